#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/log.hpp"
#include "scheduler/scheduler_config.hpp"

namespace glimmer {

/// Spawns the scheduler: the thread that owns sequences and block ids. It serves nobody before
/// `peers_known` has told it its executor and parsers.
caf::actor spawn_scheduler(caf::actor_system& system, const scheduler_config& config,
                           event_log log);

}  // namespace glimmer
