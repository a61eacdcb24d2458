// Preloaded into a server: how late does it write to its sockets?
//
// GLIMMER_PROBE names a file, into which one line goes at the end: "SAMPLES P50 P99 MAX", in
// microseconds. Measured is how long after the first read from a socket its first write returns, so
// a client that sends one small request on a new connection is measured from the end of its header.
// With GLIMMER_PROBE_STEP_MS, it is how long after the last multiple of that on the steady clock
// each write returns: scripted steps with a delay end there.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

constexpr int sockets_max = 1 << 16;
constexpr std::size_t samples_max = 1 << 20;
constexpr std::int64_t answered = -1;

std::array<std::atomic<std::int64_t>, sockets_max> read_at;  // ns; 0: not read yet
std::array<double, samples_max> took_us;
std::atomic<std::size_t> taken;

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1};
}

std::int64_t step_of_environment() {
  const char* ms = std::getenv("GLIMMER_PROBE_STEP_MS");
  return ms == nullptr ? 0 : std::int64_t{std::stoi(ms)} * 1'000'000;
}

void note(std::int64_t ns) {
  const auto place = taken++;
  if (place < samples_max) took_us[place] = static_cast<double>(ns) / 1000;
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

struct teller {
  ~teller() {
    const char* path = std::getenv("GLIMMER_PROBE");
    if (path == nullptr) return;
    const auto count = std::min(taken.load(), samples_max);
    std::sort(took_us.begin(), took_us.begin() + static_cast<std::ptrdiff_t>(count));
    const auto at = [&](std::size_t place) { return count > 0 ? took_us[place] : 0; };
    std::ofstream{path} << count << ' ' << at(count / 2) << ' ' << at(count * 99 / 100) << ' '
                        << at(count - 1) << '\n';
  }
} tells_at_exit;

}  // namespace

extern "C" {

[[gnu::visibility("default")]] ssize_t read(int fd, void* to, std::size_t size) {
  static const auto next = real<ssize_t (*)(int, void*, std::size_t)>("read");
  const auto got = next(fd, to, size);
  if (got > 0 && fd < sockets_max && read_at[fd] == 0) read_at[fd] = now_ns();
  return got;
}

[[gnu::visibility("default")]] ssize_t write(int fd, const void* from, std::size_t size) {
  static const auto next = real<ssize_t (*)(int, const void*, std::size_t)>("write");
  static const auto step = step_of_environment();
  const auto put = next(fd, from, size);
  if (fd < 0 || fd >= sockets_max || read_at[fd] == 0) return put;
  const auto since = read_at[fd].exchange(answered);
  if (step > 0) {
    note(now_ns() % step);
  } else if (since != answered) {
    note(now_ns() - since);
  }
  return put;
}

[[gnu::visibility("default")]] int close(int fd) {
  static const auto next = real<int (*)(int)>("close");
  if (fd >= 0 && fd < sockets_max) read_at[fd] = 0;
  return next(fd);
}
}
