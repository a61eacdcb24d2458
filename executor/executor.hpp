#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "executor/batch_builder.hpp"
#include "executor/sampling_stage.hpp"
#include "executor/stepper.hpp"
#include "gpu/device.hpp"
#include "model/forward.hpp"
#include "model/kv_layout.hpp"

namespace glimmer {

struct executor_options {
  std::vector<token_id> end_tokens;  ///< the model's own
  unsigned sampling_threads = 1;     ///< rows sampled at the same time; never changes a result
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
  parallel_for for_each_;
  std::vector<float> logits_;  // of one slice, on the host
};

}  // namespace glimmer
