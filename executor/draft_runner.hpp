#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "executor/draft_batch.hpp"
#include "executor/executor.hpp"
#include "executor/proposer.hpp"
#include "model/draft_head.hpp"

namespace glimmer {

/// The draft head between two steps of an executor: writes the committed rows' context and proposes
/// each sequence's next tokens, the best of each row (ties: the lowest id).
///
///     plan ─ build ─> batch ─ upload ─> context rows ─> blocks ─> logits, slice by slice ─> result
///
/// Proposals of a sequence are the same whatever else the plan holds.
class draft_runner final : public proposer {
 public:
  /// `steps` must outlive the runner and have the taps of this head.
  draft_runner(executor& steps, draft_head head);
  /// Waits for what is queued: memory must not go while the device works on it.
  ~draft_runner() override;
  draft_runner(const draft_runner&) = delete;
  draft_runner& operator=(const draft_runner&) = delete;

  /// The plan is about the executor's last step (asserted); no step may run at the same time.
  result<draft_result> run(const draft_plan& plan) override;

 private:
  void propose(std::span<token_id> best);
  void take_best(std::span<const float> logits, std::span<token_id> best);

  executor* steps_;
  draft_ground ground_;
  draft_head head_;
  draft_batch_builder builder_;
  std::vector<float> logits_;  // of one slice, on the host
};

}  // namespace glimmer
