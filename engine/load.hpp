#pragma once

#include <memory>

#include "base/result.hpp"
#include "engine/config.hpp"
#include "executor/draft_runner.hpp"
#include "executor/executor.hpp"
#include "gpu/device.hpp"
#include "model/checkpoint.hpp"
#include "model/draft_checkpoint.hpp"

namespace glimmer {

/// The host as a device, with the threads and processors of the settings and the instruction set
/// that the environment variable GLIMMER_CPU_ISA names, or else the fastest. Fails for processors
/// and sets that are not there, and for more threads than processors to pin them to.
result<std::unique_ptr<device>> open_cpu_device(const engine_settings& settings);

/// What an opened checkpoint and a device say about sizes under these settings; touches no weights.
/// Fails for a quantization that the checkpoint does not have and does not allow. `head`: the draft
/// head's, or nullptr.
result<engine_facts> facts_of(const checkpoint& source, device& home,
                              const engine_settings& settings,
                              const draft_checkpoint* head = nullptr);

/// Loads the weights, allocates KV and scratch memory and joins them to an executor. Takes as long
/// as reading the checkpoint does. The device must outlive the result.
result<std::unique_ptr<executor>> load_executor(device& home, const checkpoint& source,
                                                const engine_config& config,
                                                const draft_checkpoint* head = nullptr);

/// Loads a draft head and joins it to the executor that was loaded for it, which must outlive the
/// result.
result<std::unique_ptr<draft_runner>> load_draft_runner(executor& steps,
                                                        const draft_checkpoint& head,
                                                        const engine_config& config);

}  // namespace glimmer
