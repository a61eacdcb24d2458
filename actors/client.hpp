#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace glimmer {

struct client_setup {
  std::vector<caf::actor> tokenizers;
  caf::actor scheduler;
  caf::actor supervisor;
  std::uint64_t first_request = 1;
  std::uint64_t request_stride = 1;
  std::size_t requests_max = 1024;  ///< in flight; further ones are refused with "queue_full"
};

/// Spawns the frontend of this process's own requests: no socket, a sink per request.
caf::actor spawn_client(caf::actor_system& system, client_setup setup);

}  // namespace glimmer
