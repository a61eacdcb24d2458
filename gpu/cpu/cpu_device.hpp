#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"

namespace glimmer {

/// Versions of the arithmetic, by what they ask of the processor. All give the same bits.
enum class instruction_set : std::uint8_t { plain, avx2, avx512 };

std::string_view to_string(instruction_set set);

/// What this processor can run, slowest first; `plain` always.
std::vector<instruction_set> available_instruction_sets();

struct cpu_device_options {
  unsigned threads = 0;        ///< of the compute arena; 0 = one per processor
  std::vector<unsigned> cpus;  ///< processors that the threads are pinned to; empty = unpinned
  std::optional<instruction_set> instructions;  ///< absent = the fastest available
};

/// The host's processors and memory as a device. A stream is a thread of its own.
std::unique_ptr<device> make_cpu_device(const cpu_device_options& options);

}  // namespace glimmer
