#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <functional>
#include <memory>

#include "base/result.hpp"
#include "executor/proposer.hpp"

namespace glimmer {

/// Makes what proposes; called on the drafter's own thread, once for each drafter, when the
/// executor has loaded.
using proposer_factory = std::function<result<std::unique_ptr<proposer>>()>;

/// Spawns the drafter: a thread that answers each `propose` with `proposed`. Where it cannot, it
/// dies with the reason, and the supervisor sends another.
caf::actor spawn_drafter(caf::actor_system& system, proposer_factory make);

}  // namespace glimmer
