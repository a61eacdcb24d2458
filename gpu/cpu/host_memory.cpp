#include "gpu/cpu/host_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace glimmer {

namespace {

constexpr std::size_t large_bytes = std::size_t{1} << 20;

/// The first number of a file, if it is there and holds one ("max" is none).
std::optional<std::size_t> number_in(const char* path) {
  std::ifstream file(path);
  std::size_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

host_memory read_meminfo() {
  host_memory memory;
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::size_t kibibytes = 0;
  while (file >> name >> kibibytes) {
    if (name == "MemTotal:") memory.total = kibibytes << 10;
    if (name == "MemAvailable:") memory.available = kibibytes << 10;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return memory;
}

}  // namespace

host_memory read_host_memory() {
  host_memory memory = read_meminfo();
  if (const auto limit = number_in("/sys/fs/cgroup/memory.max")) {
    const std::size_t used = number_in("/sys/fs/cgroup/memory.current").value_or(0);
    memory.total = std::min(memory.total, *limit);
    memory.available = std::min(memory.available, *limit - std::min(*limit, used));
  }
  return memory;
}

void* take_host_memory(std::size_t bytes) {
  if (bytes < large_bytes) return std::aligned_alloc(64, (bytes / 64 + 1) * 64);
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  madvise(data, bytes, MADV_HUGEPAGE);  // only advice: nothing to do when it is refused
  return data;
}

void return_host_memory(void* data, std::size_t bytes) noexcept {
  if (bytes < large_bytes) {
    std::free(data);
  } else {
    munmap(data, bytes);
  }
}

}  // namespace glimmer
