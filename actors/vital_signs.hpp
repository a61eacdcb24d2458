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
  /// Call about once a second. `credits_in_pool`: admission credits that no frontend holds.
  std::shared_ptr<const metrics> look(const engine_state& state, std::size_t credits_in_pool,
                                      const event_log& log);

 private:
  watchdog dog_;
  draft_alarm alarm_;
  metrics counters_;
};

}  // namespace glimmer
