#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "base/result.hpp"
#include "gpu/device.hpp"
#include "gpu/ops.hpp"
#include "model/activations.hpp"
#include "model/config.hpp"
#include "model/kv_layout.hpp"
#include "model/weights.hpp"

namespace glimmer {

/// The rows of one step, all tensors i32 on the device. Rows of one sequence are adjacent and in
/// order of position; sequences may be at any stage (prefill chunk, decode, verify).
struct forward_batch {
  tensor tokens;     ///< [rows] ids
  tensor positions;  ///< [rows] absolute, from 0
  tensor wanted;     ///< [wanted] indices of rows whose logits are asked for; may be empty
  /// Indexed by kv_group: where each row's keys are stored, slot = block * block_size + offset.
  std::array<tensor, kv_group_count> slots;
  /// Indexed by kv_group.
  std::array<attention_layout, kv_group_count> layout;
};

/// Called while a step is being queued, with layer index and the residual stream behind that layer,
/// [rows, hidden] (index -1: the embedded rows). Whatever it queues on the step's stream sees that
/// value; later layers overwrite it.
using layer_observer = std::function<void(std::int64_t layer, tensor hidden)>;

/// The text decoder on one device: configuration, weights and scratch. Used by one thread.
class decoder {
 public:
  /// Sizes scratch memory for `limits`. Fails with kind `device` when memory is short.
  static result<decoder> make(device& home, text_config config, decoder_weights weights,
                              const activation_limits& limits);

  const text_config& config() const { return config_; }
  const decoder_weights& weights() const { return weights_; }
  const activation_limits& limits() const { return scratch_.limits(); }

  /// Queues one step on `s`: stores the rows' keys and values in `caches` and computes logits.
  /// Returns logits f32 [wanted, vocab], capped to (-cap, cap); they live until the next call.
  /// A row's bits depend on its own sequence alone.
  tensor forward(stream_handle s, const forward_batch& batch, const kv_caches& caches,
                 const layer_observer& observer = {});

 private:
  void embed(stream_handle s, tensor tokens, const activation_views& views);
  tensor head(stream_handle s, tensor wanted, const activation_views& views);

  device* home_ = nullptr;
  text_config config_;
  decoder_weights weights_;
  activations scratch_;
};

}  // namespace glimmer
