#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <functional>
#include <memory>

#include "base/result.hpp"
#include "executor/stepper.hpp"

namespace glimmer {

/// Loads and warms what runs the steps; called once, on the executor's own thread.
using stepper_factory = std::function<result<std::unique_ptr<stepper>>()>;

/// Spawns the executor: a thread that owns one device. On load_model it loads and tells
/// `supervisor` executor_ready or executor_failed; then it answers each run_step with step_done or
/// step_failed.
caf::actor spawn_executor(caf::actor_system& system, stepper_factory load, caf::actor supervisor);

}  // namespace glimmer
