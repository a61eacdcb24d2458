#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <cstdint>

#include "engine/answer_desk.hpp"

namespace glimmer {

struct parser_peers {
  caf::actor scheduler;
  caf::actor supervisor;
  std::uint32_t source = 0;  ///< of its metrics
};

/// Spawns a parser: the thread that keeps the answers of the requests pinned to it.
caf::actor spawn_parser(caf::actor_system& system, answer_desk::config setup, parser_peers peers);

}  // namespace glimmer
