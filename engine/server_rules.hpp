#pragma once

#include <chrono>

#include "base/clock.hpp"
#include "engine/front_desk.hpp"

namespace glimmer {

/// What an operator may change while the server runs.
struct server_rules {
  desk_rules desk;  ///< its bounds hold for the scheduler's queue and for parked sequences too
  std::chrono::seconds drain_time{30};
  duration progress_max = std::chrono::seconds{60};
};

}  // namespace glimmer
