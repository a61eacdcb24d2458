#include "engine/watchdog.hpp"

#include <fmt/core.h>

#include <chrono>

namespace glimmer {

std::optional<watchdog::finding> watchdog::look(const engine_state& state, time_point now) {
  const bool is = stuck(state, now);
  if (is == told_) return std::nullopt;
  told_ = is;
  const auto& s = state.scheduler;
  const auto quiet = std::chrono::duration<double>(now - s.last_progress).count();
  return finding{
      is,
      fmt::format("seconds={:.1f} phase={} running={} waiting={} parked={} queued_tokens={} "
                  "step_in_flight={} steps={} free_blocks={}+{}",
                  quiet, to_string(state.phase), s.running, s.waiting, s.parked, s.queued_tokens,
                  s.step_in_flight, s.steps, s.blocks[0].free, s.blocks[1].free)};
}

}  // namespace glimmer
