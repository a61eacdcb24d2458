#pragma once

#include <memory>

#include "base/result.hpp"
#include "engine/config.hpp"
#include "executor/executor.hpp"
#include "gpu/device.hpp"
#include "model/checkpoint.hpp"

namespace glimmer {

/// What an opened checkpoint and a device say about sizes; touches no weights.
engine_facts facts_of(const checkpoint& source, device& home);

/// Loads the weights, allocates KV and scratch memory and joins them to an executor. Takes as long
/// as reading the checkpoint does. The device must outlive the result.
result<std::unique_ptr<executor>> load_executor(device& home, const checkpoint& source,
                                                const engine_config& config);

}  // namespace glimmer
