#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "executor/proposer.hpp"
#include "executor/stepper.hpp"

namespace glimmer {

/// What a test says to a stepper and learns from it. Any thread.
class step_gate {
 public:
  /// Steps that begin from now on wait inside, until `open`.
  void shut();
  void open();
  /// The next step that begins fails.
  void fail_next();
  /// Returns when a step waits inside the shut gate.
  void wait_inside();
  /// Steps that had rows of `sequence`.
  std::uint32_t steps_with(sequence_id sequence) const;

  /// The same for the drafter: it waits inside, or dies of its next plan.
  void shut_drafter();
  void open_drafter();
  void wait_drafter_inside();
  void kill_drafter();
  /// Draft plans that were answered, and proposers that were made.
  std::uint32_t drafted() const;
  std::uint32_t drafters() const;
  void wait_drafted(std::uint32_t plans);

  /// The stepper's side: a step begins. True if it must fail.
  bool enter(const step_plan& plan);
  /// The drafter's side. True if it must die.
  bool enter_drafter();
  void count_drafted();
  void count_drafter();
  std::uint32_t prompt_of(sequence_id sequence) const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool shut_ = false;
  bool inside_ = false;
  bool failing_ = false;
  bool drafter_shut_ = false;
  bool drafter_inside_ = false;
  bool drafter_dying_ = false;
  std::uint32_t drafted_ = 0;
  std::uint32_t drafters_ = 0;
  std::map<sequence_id, std::uint32_t> steps_;
  std::map<sequence_id, std::uint32_t> prompts_;  // tokens
};

/// What is said by everybody: output token i is `script[i]`, and behind the script a hash of i
/// below `words`.
struct gated_lines {
  std::vector<token_id> script;
  token_id words = 256;
  token_id at(std::uint32_t index) const;
};

/// A stepper without a model.
class gated_stepper final : public stepper {
 public:
  using lines = gated_lines;
  gated_stepper(std::shared_ptr<step_gate> gate, lines says)
      : gate_{std::move(gate)}, says_{std::move(says)} {}
  result<step_result> run(const step_plan& plan) override;

 private:
  std::shared_ptr<step_gate> gate_;
  lines says_;
};

/// A proposer that knows the lines, but for every seventh token.
class gated_proposer final : public proposer {
 public:
  gated_proposer(std::shared_ptr<step_gate> gate, gated_lines says)
      : gate_{std::move(gate)}, says_{std::move(says)} {
    gate_->count_drafter();
  }
  /// Throws when the gate says that it is to die.
  result<draft_result> run(const draft_plan& plan) override;

 private:
  std::shared_ptr<step_gate> gate_;
  gated_lines says_;
};

}  // namespace glimmer
