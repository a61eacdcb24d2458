#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "executor/batch_builder.hpp"
#include "executor/sampling_stage.hpp"
#include "executor/stepper.hpp"
#include "gpu/device.hpp"
#include "model/draft_head.hpp"
#include "model/feature_taps.hpp"
#include "model/forward.hpp"
#include "model/kv_layout.hpp"

namespace glimmer {

struct executor_options {
  std::vector<token_id> end_tokens;  ///< the model's own
  unsigned sampling_threads = 1;     ///< rows sampled at the same time; never changes a result
  /// Where residuals are kept for a draft head; none without one. Of the model's limits, on the
  /// executor's device.
  std::optional<feature_taps> taps;
};

/// What a draft head works with between two steps. Views and references into the executor.
struct draft_ground {
  device* home = nullptr;
  stream_handle stream;  ///< the executor's own: its order is the order of all device work
  const kv_caches* caches = nullptr;
  tensor features;  ///< of the last step's rows
  borrowed_weights target;
  std::int64_t vocab_size = 0;
};

/// Step plan in, step result out, on one device. Owns the model, the KV caches and the samplers;
/// lives in one thread.
///
///     plan ─ begin ─> batch ─ upload ─> copies, forward ─ logits ─> sampling ─ finish ─> result
class executor final : public stepper {
 public:
  /// The device must outlive the executor; `caches` belong to it.
  executor(device& home, decoder model, kv_caches caches, executor_options options);
  /// Waits for what is queued: memory must not go while the device works on it.
  ~executor() override;
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  result<step_result> run(const step_plan& plan) override;

  /// For a draft head; asserts that there are taps. Not to be used while a step runs.
  draft_ground ground() const;
  /// The step whose rows `ground().features` holds, and how many they are.
  step_id last_step() const { return last_step_; }
  std::uint32_t last_rows() const { return last_rows_; }

  /// Sequences whose samplers are held: started and not yet dropped.
  std::size_t sequences() const { return sampling_.sequences(); }

 private:
  void copy_blocks(const step_plan& plan);
  std::size_t slice_end(std::size_t begin) const;
  void run_slice(const forward_batch& batch, std::span<const logit_task> tasks);

  device* home_;
  decoder model_;
  kv_caches caches_;
  stream_handle stream_;
  batch_builder builder_;
  sampling_stage sampling_;
  std::optional<feature_taps> taps_;
  step_id last_step_;
  std::uint32_t last_rows_ = 0;
  parallel_for for_each_;
  std::vector<float> logits_;  // of one slice, on the host
};

}  // namespace glimmer
