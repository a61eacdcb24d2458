#pragma once

#include <functional>
#include <optional>

#include "base/clock.hpp"
#include "executor/proposer.hpp"
#include "executor/stepper.hpp"
#include "scheduler/scheduler.hpp"

namespace glimmer {

/// One turn of the engine: plan, run, commit, and draft where there is a proposer (then the
/// scheduler's drafter is ready). Nothing when there is nothing to run. A failed step
/// ends its sequences; their endings, like all that did not come with a commit, are among
/// `finished`. `clock` is asked before planning and after running.
std::optional<committed> run_one_step(scheduler& plans, stepper& runs,
                                      const std::function<time_point()>& clock,
                                      proposer* drafts = nullptr);

}  // namespace glimmer
