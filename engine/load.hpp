#pragma once

#include <memory>

#include "base/result.hpp"
#include "engine/config.hpp"
#include "executor/executor.hpp"
#include "gpu/device.hpp"
#include "model/checkpoint.hpp"

namespace glimmer {

/// The host as a device, with the threads and processors of the settings and the instruction set
/// that the environment variable GLIMMER_CPU_ISA names, or else the fastest. Fails for processors
/// and sets that are not there, and for more threads than processors to pin them to.
result<std::unique_ptr<device>> open_cpu_device(const engine_settings& settings);

/// What an opened checkpoint and a device say about sizes under these settings; touches no weights.
/// Fails for a quantization that the checkpoint does not have and does not allow.
result<engine_facts> facts_of(const checkpoint& source, device& home,
                              const engine_settings& settings);

/// Loads the weights, allocates KV and scratch memory and joins them to an executor. Takes as long
/// as reading the checkpoint does. The device must outlive the result.
result<std::unique_ptr<executor>> load_executor(device& home, const checkpoint& source,
                                                const engine_config& config);

}  // namespace glimmer
