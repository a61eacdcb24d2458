#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/clock.hpp"
#include "scheduler/scheduler_stats.hpp"

namespace glimmer {

enum class engine_phase : std::uint8_t { loading, serving, draining, failed };

constexpr std::string_view to_string(engine_phase phase) {
  switch (phase) {
    case engine_phase::loading: return "loading";
    case engine_phase::serving: return "serving";
    case engine_phase::draining: return "draining";
    case engine_phase::failed: return "failed";
  }
  return "failed";
}

/// The engine as others see it: published by value, read without asking anybody.
struct engine_state {
  engine_phase phase = engine_phase::loading;
  scheduler_stats scheduler;
  duration progress_max = std::chrono::seconds{60};  ///< work and no step for longer: stuck
};

/// Work is there and nothing has moved for too long: something below hangs.
constexpr bool stuck(const engine_state& state, time_point now) {
  return state.scheduler.has_work && now - state.scheduler.last_progress > state.progress_max;
}

/// Serving, and not stuck.
constexpr bool healthy(const engine_state& state, time_point now) {
  return (state.phase == engine_phase::serving || state.phase == engine_phase::draining) &&
         !stuck(state, now);
}

}  // namespace glimmer
