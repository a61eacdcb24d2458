#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/request_intake.hpp"

namespace glimmer {

struct tokenizer_peers {
  std::vector<caf::actor> parsers;
  caf::actor supervisor;
  std::uint32_t source = 0;  ///< of its metrics
};

/// Spawns a tokenizer: a thread that reads request bodies and hands accepted ones to the parser
/// they are pinned to. It owns only its counters; `intake` is shared by all of them.
caf::actor spawn_tokenizer(caf::actor_system& system, std::shared_ptr<const request_intake> intake,
                           tokenizer_peers peers);

}  // namespace glimmer
