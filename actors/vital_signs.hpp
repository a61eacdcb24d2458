#pragma once

#include <memory>

#include "actors/log.hpp"
#include "engine/draft_alarm.hpp"
#include "engine/engine_state.hpp"
#include "engine/watchdog.hpp"
#include "protocol/metrics.hpp"

namespace glimmer {

/// What the supervisor tells about the whole: counters, and a line when nothing moves.
class vital_signs {
 public:
  /// What lies with the supervisor: admission credits that no frontend holds, and messages.
  struct desk_load {
    std::size_t credits = 0;
    std::size_t mail = 0;
  };
  /// Call about once a second.
  std::shared_ptr<const metrics> look(const engine_state& state, desk_load load,
                                      const event_log& log);

 private:
  watchdog dog_;
  draft_alarm alarm_;
  metrics counters_;
};

}  // namespace glimmer
