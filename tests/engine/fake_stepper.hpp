#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "executor/sampling_stage.hpp"
#include "executor/stepper.hpp"
#include "scheduler/scheduler_config.hpp"

namespace glimmer {

/// A stepper whose model is a hash. Its KV slots hold the tokens that were written there, one
/// memory per group; a row's logits are a hash of every token it can see *through its block
/// tables*: the whole past in the full group, the window in the sliding one. A wrong table, a block
/// freed too soon, a missing copy or a stale key changes what is generated. Sampling is the real
/// one.
class fake_stepper final : public stepper {
 public:
  struct options {
    std::uint32_t vocab = 64;
    /// A prompt's answer becomes NaN once this token was seen.
    std::optional<token_id> poison;
    /// The step of this number fails.
    std::uint64_t failing_step = 0;
  };

  fake_stepper(const scheduler_config& config, const options& with);
  result<step_result> run(const step_plan& plan) override;

  std::size_t sequences() const { return sampling_.sequences(); }
  std::uint32_t rows_max() const { return rows_max_; }

 private:
  std::vector<float> logits_of(const step_plan& plan, std::int32_t row) const;
  std::int32_t& slot(const step_plan& plan, const sequence_rows& s, kv_group group,
                     std::uint32_t position);

  scheduler_config config_;
  options with_;
  std::array<std::vector<std::int32_t>, kv_group_count> slots_;
  sampling_stage sampling_;
  std::uint32_t rows_max_ = 0;
};

}  // namespace glimmer
