#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <chrono>
#include <cstddef>
#include <functional>

#include "actors/log.hpp"
#include "base/clock.hpp"

namespace glimmer {

/// How the engine ended. The numbers are the daemon's exit codes.
enum class engine_end : int {
  drained = 0,      ///< asked to, nothing was cut
  cut = 1,          ///< asked to, open requests were cut
  not_loaded = 3,   ///< weights could not be packed
  device_lost = 4,  ///< the executor died
  actor_died = 70,  ///< a bug
};

struct supervisor_setup {
  event_log log;
  std::chrono::seconds drain_time{30};
  duration progress_max = std::chrono::seconds{60};  ///< then the watchdog barks
  std::size_t admission_credits = 1024;              ///< of all frontends together
  std::function<caf::actor()> send_drafter;          ///< told to the scheduler; empty: none
  std::function<void()> on_ready;                    ///< once, when requests are served
  std::function<void(engine_end)> on_end;            ///< once; from the supervisor's thread
};

/// Spawns the supervisor: it watches the crew, publishes the engine's state and the metrics to the
/// frontends, and leads the drain.
caf::actor spawn_supervisor(caf::actor_system& system, supervisor_setup setup);

}  // namespace glimmer
