#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/draft.hpp"
#include "scheduler/scheduler_config.hpp"
#include "tests/simulation/dice.hpp"
#include "tests/simulation/fake_executor.hpp"

namespace glimmer {

/// A draft head without a model. Its context rows, one per position of the sliding blocks, hold
/// hashes of the whole prefix, and each block looks at every row that a plan says it may see: a row
/// of a rejected draft, one that was never written, lost in a copy or left by somebody else shows
/// at once. It proposes the tokens that the executor will sample, each one with a given chance.
class fake_drafter {
 public:
  struct temper {
    std::uint32_t right_percent = 70;  ///< per slot, given that all before are right
    std::uint32_t absurd_percent = 0;  ///< per slot: no token of the vocabulary
  };
  fake_drafter(const scheduler_config& config, const temper& mood, std::uint64_t seed);

  /// A step is about to run: its copies carry context rows along.
  void follow(const step_plan& step);
  /// Does what the plan says after `step` has run. `judged`: somebody waits for the answer, so what
  /// is read must be right.
  draft_result run(const draft_plan& plan, const fake_executor& target, bool judged = true);
  /// The device's memory is empty.
  void restart();

  const std::string& complaint() const { return complaint_; }
  /// Context positions seen by all blocks, and those that their window could have shown.
  std::uint64_t seen() const { return seen_; }
  std::uint64_t in_reach() const { return in_reach_; }

 private:
  void complain(const draft_rows& rows, const std::string& what);
  void write(const draft_plan& plan, const draft_rows& rows, const std::vector<token_id>& tokens);
  void look(const draft_plan& plan, const draft_rows& rows, const std::vector<token_id>& tokens);
  std::uint64_t* cell(const draft_plan& plan, const draft_rows& rows, std::uint32_t position);
  std::vector<token_id> propose(const draft_rows& rows, const fake_executor& target);

  scheduler_config config_;
  temper mood_;
  dice chance_;
  step_plan step_;  // the last one that was followed
  std::vector<std::uint64_t> cells_;
  std::uint64_t seen_ = 0;
  std::uint64_t in_reach_ = 0;
  std::string complaint_;
};

}  // namespace glimmer
