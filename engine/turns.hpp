#pragma once

#include <memory>
#include <mutex>

#include "executor/proposer.hpp"
#include "executor/stepper.hpp"

namespace glimmer {

/// One device, two threads: a stepper and a proposer that never work at the same time. Usually the
/// scheduler sees to that; but it does not wait for ever, and then a step may be due while the
/// proposer still works. The step waits, and a draft plan that comes behind a later step is
/// refused, because its residuals are gone.
class turns {
 public:
  result<step_result> step(stepper& steps, const step_plan& plan);
  result<draft_result> draft(proposer& drafts, const draft_plan& plan);

 private:
  std::mutex mutex_;
  step_id last_step_{};
};

/// A stepper that takes turns.
class stepper_in_turn final : public stepper {
 public:
  /// `inner` may be shared with its proposer.
  stepper_in_turn(std::shared_ptr<stepper> inner, std::shared_ptr<turns> taken)
      : inner_{std::move(inner)}, turns_{std::move(taken)} {}
  result<step_result> run(const step_plan& plan) override { return turns_->step(*inner_, plan); }

 private:
  std::shared_ptr<stepper> inner_;
  std::shared_ptr<turns> turns_;
};

/// A proposer that takes turns.
class proposer_in_turn final : public proposer {
 public:
  proposer_in_turn(std::shared_ptr<proposer> inner, std::shared_ptr<turns> taken)
      : inner_{std::move(inner)}, turns_{std::move(taken)} {}
  result<draft_result> run(const draft_plan& plan) override { return turns_->draft(*inner_, plan); }

 private:
  std::shared_ptr<proposer> inner_;
  std::shared_ptr<turns> turns_;
};

}  // namespace glimmer
