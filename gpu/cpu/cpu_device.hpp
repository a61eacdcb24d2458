#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/device.hpp"

namespace glimmer {

/// Versions of the arithmetic, by what they ask of the processor. All give the same bits but for
/// `amx`, which sums products of bf16 by bf16 in pairs; `plain_pairs` is its judge.
enum class instruction_set : std::uint8_t { plain, plain_pairs, avx2, avx512, avx512vnni, amx };

/// Whether products of bf16 by bf16 are summed in pairs.
constexpr bool sums_in_pairs(instruction_set set) {
  return set == instruction_set::amx || set == instruction_set::plain_pairs;
}

std::string_view to_string(instruction_set set);

/// What this processor can run, slowest first; both plain ones always.
std::vector<instruction_set> available_instruction_sets();

/// The set of that name, for an operator who forces one; the fastest for "". Fails, and says what
/// is allowed, for a name that is not known and for a set that this processor does not have.
result<instruction_set> instruction_set_named(std::string_view name);

/// Processors that this process may run on, in order.
std::vector<unsigned> available_cpus();

struct cpu_device_options {
  unsigned threads = 0;        ///< of the compute arena; 0 = one per processor
  std::vector<unsigned> cpus;  ///< processors that the threads are pinned to; empty = unpinned
  std::optional<instruction_set> instructions;  ///< absent = the fastest available
};

/// The host's processors and memory as a device. A stream is a thread of its own: ops queue and
/// return, as on a GPU. At most eight streams; large uploads wait for their stream. Buffers must go
/// before the device.
class cpu_device : public device {
 public:
  /// Queues work of the host among the ops of a stream.
  virtual void queue(stream_handle s, std::function<void()> work) = 0;
  virtual instruction_set instructions() const = 0;
};

std::unique_ptr<cpu_device> make_cpu_device(const cpu_device_options& options);

}  // namespace glimmer
