#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

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

  /// The stepper's side: a step begins. True if it must fail.
  bool enter(const step_plan& plan);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool shut_ = false;
  bool inside_ = false;
  bool failing_ = false;
  std::map<sequence_id, std::uint32_t> steps_;
};

/// A stepper without a model: output token i of every sequence is `script[i]`, and behind the
/// script a hash of i below `words`.
class gated_stepper final : public stepper {
 public:
  struct lines {
    std::vector<token_id> script;
    token_id words = 256;
  };
  gated_stepper(std::shared_ptr<step_gate> gate, lines says)
      : gate_{std::move(gate)}, says_{std::move(says)} {}
  result<step_result> run(const step_plan& plan) override;

 private:
  std::shared_ptr<step_gate> gate_;
  lines says_;
  std::map<sequence_id, std::uint32_t> prompts_;  // tokens
};

}  // namespace glimmer
