#include "actors/vital_signs.hpp"

#include "actors/real_clock.hpp"
#include "engine/scheduler_metrics.hpp"

namespace glimmer {

std::shared_ptr<const metrics> vital_signs::look(const engine_state& state, desk_load load,
                                                 const event_log& log) {
  const auto now = monotonic_now();
  if (const auto found = dog_.look(state, now)) {
    log.write(found->stuck ? log_level::error : log_level::info,
              found->stuck ? "no progress" : "progress again", found->state);
  }
  if (const auto warning = alarm_.look(state.scheduler.drafting)) {
    log.warning("drafting", *warning);
  }
  counters_.set(counters_.series(metric::engine_healthy), healthy(state, now));
  counters_.set(counters_.series(metric::admission_credits, {{"state", "pool"}}),
                static_cast<double>(load.credits));
  count_mail(counters_, load.mail, metrics_source::supervisor);
  return std::make_shared<const metrics>(counters_);
}

}  // namespace glimmer
