#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <memory>
#include <vector>

#include "engine/request_intake.hpp"

namespace glimmer {

/// Spawns a tokenizer: a thread that reads request bodies and hands accepted ones to the parser
/// they are pinned to. It owns nothing; `intake` is shared by all of them.
caf::actor spawn_tokenizer(caf::actor_system& system, std::shared_ptr<const request_intake> intake,
                           std::vector<caf::actor> parsers);

}  // namespace glimmer
