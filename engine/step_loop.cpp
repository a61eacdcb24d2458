#include "engine/step_loop.hpp"

#include <iterator>
#include <utility>

namespace glimmer {

std::optional<committed> run_one_step(scheduler& plans, stepper& runs,
                                      const std::function<time_point()>& clock) {
  committed out;
  const auto plan = plans.plan(clock());
  if (plan) {
    auto answer = runs.run(*plan);
    if (answer)
      out = plans.commit(std::move(*answer), clock());
    else
      plans.fail_step(plan->id, clock());
  }
  auto endings = plans.take_finished();
  std::move(endings.begin(), endings.end(), std::back_inserter(out.finished));
  if (!plan && out.finished.empty()) return std::nullopt;
  return out;
}

}  // namespace glimmer
