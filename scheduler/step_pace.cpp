#include "scheduler/step_pace.hpp"

#include <algorithm>

namespace glimmer {

namespace {

constexpr double weight_max = 0.125;

struct observation {
  double seen = 0;
  double weight = weight_max;
};

/// Moves a learned value part of the way to what was just seen.
void learn(double& value, observation o) {
  value = value == 0 ? o.seen : value + (o.seen - value) * o.weight;
}

}  // namespace

void step_pace::observe(const step_cost& cost) {
  const auto time = static_cast<double>(std::max<std::int64_t>(cost.time.count(), 1));
  if (cost.prompt_rows == 0) {
    learn(stream_step_, {.seen = time});
    return;
  }
  const auto streams = cost.streams > 0 ? std::min(stream_step_, time / 2) : 0;
  // Few rows are much noise. A cost that was learned too high keeps the chunks small, so good news
  // is believed at once: larger chunks then measure better.
  const auto seen = (time - streams) / cost.prompt_rows;
  const auto weight = seen < prompt_row_ ? weight_max : cost.prompt_rows / 512.0;
  learn(prompt_row_, {.seen = seen, .weight = std::min(weight, weight_max)});
}

duration step_pace::time_allowed(std::uint32_t streams) const {
  auto allowed = config_.step_time_max.count() > 0 ? config_.step_time_max : duration::max();
  const auto floor = config_.decode_floor_percent;
  if (streams > 0 && floor > 0 && stream_step_ > 0) {
    const auto longest = stream_step_ * 100 / floor;
    if (longest < static_cast<double>(allowed.count())) {
      allowed = duration{static_cast<std::int64_t>(longest)};
    }
  }
  return allowed;
}

std::uint32_t step_pace::prompt_rows_max(std::uint32_t streams) const {
  const auto allowed = time_allowed(streams);
  if (allowed == duration::max() || prompt_row_ == 0) return UINT32_MAX;
  const auto taken = streams > 0 ? stream_step_ : 0;
  const auto rows = (static_cast<double>(allowed.count()) - taken) / prompt_row_;
  return static_cast<std::uint32_t>(std::clamp(rows, double{prompt_rows_min}, 1e9));
}

}  // namespace glimmer
