#include "engine/step_loop.hpp"

#include <iterator>
#include <utility>

namespace glimmer {
namespace {

void draft(scheduler& plans, proposer& drafts, const std::function<time_point()>& clock) {
  const auto plan = plans.plan_drafts(clock());
  if (!plan) return;
  const auto answer = drafts.run(*plan);
  if (answer)
    plans.take_drafts(*answer, clock());
  else
    plans.drafts_failed(plan->id);
}

}  // namespace

std::optional<committed> run_one_step(scheduler& plans, stepper& runs,
                                      const std::function<time_point()>& clock, proposer* drafts) {
  committed out;
  const auto plan = plans.plan(clock());
  if (plan) {
    auto answer = runs.run(*plan);
    if (answer)
      out = plans.commit(std::move(*answer), clock());
    else
      plans.fail_step(plan->id, clock());
  }
  if (drafts != nullptr) draft(plans, *drafts, clock);
  auto endings = plans.take_finished();
  std::move(endings.begin(), endings.end(), std::back_inserter(out.finished));
  if (!plan && out.finished.empty()) return std::nullopt;
  return out;
}

}  // namespace glimmer
