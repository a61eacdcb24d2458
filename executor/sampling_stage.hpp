#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "executor/logits_processor.hpp"
#include "executor/sampler.hpp"
#include "scheduler/step.hpp"

namespace glimmer {

/// Runs `tasks` calls of the body, in any order and on any thread: `device::for_each`, or a loop.
using parallel_for =
    std::function<void(std::size_t tasks, const std::function<void(std::size_t)>& body)>;

/// Rows of logits that are worked on together: those of one sequence that yield tokens, or one
/// row of a prompt whose next token's probability is asked for.
struct logit_task {
  enum class kind : std::uint8_t { sample, prompt };
  kind what = kind::sample;
  std::uint32_t sequence = 0;  ///< index into step_plan::sequences
  std::uint32_t row = 0;       ///< the first one's index into step_plan::tokens
  std::uint32_t begin = 0;     ///< and into `sampling_stage::wanted`
  std::uint32_t rows = 0;      ///< drafts + 1, or 1
};

/// The half of the executor behind the forward pass: keeps what sampling needs of every sequence
/// between `started` and `dropped`, and turns rows of logits into the step's result. Knows no
/// device. One thread calls; the work of `take` spreads over the threads of a `parallel_for`.
///
///     begin(plan) ──> wanted() ──> take(tasks, logits), in one or several slices ──> finish()
class sampling_stage {
 public:
  /// `end_tokens`: the model's own. `lanes`: how many tasks may run at the same time.
  sampling_stage(std::vector<token_id> end_tokens, unsigned lanes);

  /// Drops and starts sequences and lists the step's tasks. The plan must live until `finish`;
  /// that it fits the sequences' tokens so far is asserted.
  void begin(const step_plan& plan);

  /// Rows of the plan whose logits are needed, task by task.
  std::span<const std::int32_t> wanted() const { return wanted_; }
  std::span<const logit_task> tasks() const { return tasks_; }

  /// Works on `tasks`, a run of `tasks()`. logits: [rows, vocab], the wanted rows of these tasks.
  /// Each run is given once, in order. A sequence with a broken row (NaN, or nothing finite) gets
  /// no token and is marked as failed; its neighbours do not notice.
  void take(std::span<const logit_task> tasks, std::span<const float> logits,
            const parallel_for& for_each);

  /// The answer to the plan: every sequence once, in the plan's order.
  step_result finish();

  std::size_t sequences() const { return states_.size(); }

 private:
  struct sequence_state {
    std::shared_ptr<const sampling_params> params;
    std::shared_ptr<const std::vector<token_id>> prompt;
    logits_processor processor;
  };
  struct lane {
    sampler draw;
    std::vector<float> row;  // a copy that the processor may change
  };
  struct logit_rows {
    std::span<const float> values;
    std::size_t width = 0;
    std::span<const float> operator[](std::size_t row) const {
      return values.subspan(row * width, width);
    }
  };

  void start(const sequence_start& s);
  void list_tasks(std::uint32_t sequence);
  void add_task(logit_task task);
  bool run_task(const logit_task& task, const logit_rows& logits, lane& on);
  bool sample(const logit_task& task, const logit_rows& logits, lane& on);
  bool tell_prompt(const logit_task& task, const logit_rows& logits, lane& on);
  std::span<const token_id> drafts_of(const sequence_rows& rows) const;

  std::vector<token_id> end_tokens_;
  std::vector<lane> lanes_;
  std::unordered_map<sequence_id, sequence_state> states_;

  // of the step in work
  const step_plan* plan_ = nullptr;
  std::vector<sequence_state*> state_of_;  // per sequence of the plan
  std::vector<logit_task> tasks_;
  std::vector<std::int32_t> wanted_;
  step_result answer_;
};

}  // namespace glimmer
