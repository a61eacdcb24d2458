#include "gpu/cpu/cpu_device.hpp"

#include <fmt/format.h>
#include <sched.h>

#if defined(GLIMMER_X86)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <thread>

#include "gpu/checked_ops.hpp"
#include "gpu/cpu/cpu_ops.hpp"
#include "gpu/cpu/host_memory.hpp"
#include "gpu/cpu/host_view.hpp"

namespace glimmer {

namespace {

/// Copies of at least this size wait for the stream instead of taking a second copy along.
constexpr std::size_t large_upload_bytes = std::size_t{1} << 20;

bool is_known(std::string_view name) {
  using enum instruction_set;
  return std::ranges::any_of(std::array{plain, plain_pairs, avx2, avx512, avx512vnni, amx},
                             [name](instruction_set set) { return to_string(set) == name; });
}

#if defined(GLIMMER_X86)
/// Whether the processor multiplies tiles of bf16 and bytes, and the system lets this process.
bool has_tiles() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned wanted = 1u << 22 | 1u << 24 | 1u << 25;  // bf16, tiles, bytes
  if ((d & wanted) != wanted) return false;
  constexpr long ask_for_state = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;
  return syscall(SYS_arch_prctl, ask_for_state, tile_data) == 0;
}
#endif

const cpu_kernels& kernels_of(instruction_set set) {
#if defined(GLIMMER_X86)
  if (set == instruction_set::amx) return amx_kernels();
  if (set == instruction_set::avx512vnni) return avx512vnni_kernels();
  if (set == instruction_set::avx512) return avx512_kernels();
  if (set == instruction_set::avx2) return avx2_kernels();
#endif
  if (set == instruction_set::plain_pairs) return plain_pair_kernels();
  GLIMMER_ASSERT(set == instruction_set::plain, "this build has a version for that set");
  return plain_kernels();
}

class host_device final : public cpu_device {
 public:
  host_device(const cpu_device_options& options, unsigned threads, instruction_set set)
      : instructions_(set),
        arena_(threads, options.cpus),
        ops_(arena_, lanes_, kernels_of(set)),
        checked_(ops_) {}

  device_info info() const override {
    const host_memory memory = read_host_memory();
    const unsigned threads = arena_.threads();
    return {.name = fmt::format("cpu {}, {} thread{}", to_string(instructions_), threads,
                                threads == 1 ? "" : "s"),
            .memory_bytes = memory.total,
            .free_bytes = memory.available};
  }

  result<device_buffer> allocate(std::size_t bytes) override {
    const host_memory memory = read_host_memory();
    void* const data = bytes <= memory.available ? take_host_memory(bytes) : nullptr;
    if (data == nullptr) {
      return fail({.kind = error_kind::device,
                   .code = "out_of_memory",
                   .param = {},
                   .text = fmt::format("{} bytes of memory are asked for, but only {} of {} bytes "
                                       "are available",
                                       bytes, memory.available, memory.total)});
    }
    return device_buffer(*this, {reinterpret_cast<std::uintptr_t>(data)}, bytes);
  }

  stream_handle make_stream() override {
    for (std::uint32_t index = 0; index < lanes_.size(); ++index) {
      if (lanes_[index] != nullptr) continue;
      lanes_[index] = std::make_unique<cpu_lane>(arena_);
      return {.index = index};
    }
    GLIMMER_ASSERT(false, "a device has at most eight streams");
    return {};
  }

  event_handle record(stream_handle s) override {
    return {.ticket = stream(s).queued(), .stream = s};
  }

  bool reached(event_handle e) const override { return stream(e.stream).completed() >= e.ticket; }

  void wait(event_handle e) override { stream(e.stream).wait(e.ticket); }

  void upload(stream_handle s, tensor to, std::span<const std::byte> from) override {
    GLIMMER_ASSERT(from.size() == to.bytes(), "an upload fills its tensor");
    if (from.empty()) return;
    if (from.size() >= large_upload_bytes) {
      wait(record(s));
      std::memcpy(host<std::byte>(to), from.data(), from.size());
      return;
    }
    stream(s).queue([to, copy = std::vector(from.begin(), from.end())] {
      std::memcpy(host<std::byte>(to), copy.data(), copy.size());
    });
  }

  void download(stream_handle s, std::span<std::byte> to, tensor from) override {
    GLIMMER_ASSERT(to.size() == from.bytes(), "a download fills its span");
    if (to.empty()) return;
    stream(s).queue([to, from] { std::memcpy(to.data(), host<std::byte>(from), to.size()); });
  }

  ops& operations() override { return checked_; }

  void for_each(std::size_t tasks, const std::function<void(std::size_t)>& body) override {
    arena_.for_each(tasks, body);
  }

  void queue(stream_handle s, std::function<void()> work) override {
    stream(s).queue(std::move(work));
  }

  instruction_set instructions() const override { return instructions_; }

 private:
  cpu_stream& stream(stream_handle s) const {
    GLIMMER_ASSERT(s.index < lanes_.size() && lanes_[s.index] != nullptr,
                   "a handle belongs to a stream of this device");
    return lanes_[s.index]->stream;
  }

  void release(device_pointer data, std::size_t bytes) noexcept override {
    return_host_memory(reinterpret_cast<void*>(data.address), bytes);
  }

  instruction_set instructions_;
  cpu_arena arena_;
  cpu_lanes lanes_;  // after the arena: streams finish first
  cpu_ops ops_;
  checked_ops checked_;
};

}  // namespace

std::string_view to_string(instruction_set set) {
  switch (set) {
    case instruction_set::plain: return "plain";
    case instruction_set::plain_pairs: return "plain-pairs";
    case instruction_set::avx2: return "avx2";
    case instruction_set::avx512: return "avx512";
    case instruction_set::avx512vnni: return "avx512vnni";
    case instruction_set::amx: return "amx";
  }
  return "?";
}

std::vector<instruction_set> available_instruction_sets() {
  std::vector<instruction_set> sets{instruction_set::plain_pairs, instruction_set::plain};
#if defined(GLIMMER_X86)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx2) sets.push_back(instruction_set::avx2);
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  if (avx512) sets.push_back(instruction_set::avx512);
  if (vnni) sets.push_back(instruction_set::avx512vnni);
  if (vnni && __builtin_cpu_supports("avx512bf16") && has_tiles())
    sets.push_back(instruction_set::amx);
#endif
  return sets;
}

result<instruction_set> instruction_set_named(std::string_view name) {
  const auto sets = available_instruction_sets();
  if (name.empty()) return sets.back();
  std::string allowed;
  for (const auto set : sets) {
    if (to_string(set) == name) return set;
    allowed += (allowed.empty() ? "" : ", ") + std::string{to_string(set)};
  }
  return fail(bad_value(
      "cpu_isa",
      fmt::format("The instruction set is set to '{}', which {}; allowed here are {}.", name,
                  is_known(name) ? "this processor does not have" : "no code here is made for",
                  allowed)));
}

std::vector<unsigned> available_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<unsigned> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

std::unique_ptr<cpu_device> make_cpu_device(const cpu_device_options& options) {
  const unsigned threads =
      options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  const instruction_set set = options.instructions.value_or(available_instruction_sets().back());
  return std::make_unique<host_device>(options, threads, set);
}

}  // namespace glimmer
