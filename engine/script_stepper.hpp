#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "engine/script.hpp"
#include "executor/stepper.hpp"

namespace glimmer {

/// A device without a model, for tests and load: plays prepared turns, several tokens per step
/// when the plan has room for them. Behind the end of its turn a sequence gets end-of-turn
/// tokens; every token has logprob 0. A step fails where its turn says so. Lives in one thread.
class script_stepper final : public stepper {
 public:
  /// Lets the time of a step pass.
  using pause = std::function<void(duration)>;
  script_stepper(script turns, std::shared_ptr<const tokenizer> tokens, pause wait);

  result<step_result> run(const step_plan& plan) override;

  /// Sequences started and not yet dropped.
  std::size_t sequences() const { return playing_.size(); }

 private:
  struct playing {
    const scripted_turn* turn = nullptr;  // nullptr: nothing but the end
    std::shared_ptr<const sampling_params> params;
    std::shared_ptr<const std::vector<token_id>> prompt;
    std::size_t next = 0;  // output index
  };
  void meet(const step_plan& plan);
  std::size_t tokens_of(const sequence_rows& rows) const;
  bool fails(const sequence_rows& rows) const;
  sequence_tokens play(const sequence_rows& rows);

  script script_;
  std::shared_ptr<const tokenizer> tokens_;
  pause wait_;
  std::unordered_map<sequence_id, playing> playing_;
};

}  // namespace glimmer
