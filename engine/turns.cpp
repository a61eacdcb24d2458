#include "engine/turns.hpp"

namespace glimmer {

result<step_result> turns::step(stepper& steps, const step_plan& plan) {
  const std::lock_guard turn{mutex_};
  last_step_ = plan.id;
  return steps.run(plan);
}

result<draft_result> turns::draft(proposer& drafts, const draft_plan& plan) {
  const std::lock_guard turn{mutex_};
  // An answer without proposals: nobody waits for it any more.
  if (plan.id != last_step_) return draft_result{.id = plan.id, .sequences = {}};
  return drafts.run(plan);
}

}  // namespace glimmer
