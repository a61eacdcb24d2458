#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "gpu/device.hpp"
#include "gpu/ops.hpp"
#include "model/draft_head_config.hpp"
#include "model/draft_head_weights.hpp"
#include "model/kv_layout.hpp"

namespace glimmer {

/// How large one call may be, and in which type it is computed.
struct draft_limits {
  std::int64_t block_rows = 0;    ///< rows of all blocks of one call
  std::int64_t context_rows = 0;  ///< context rows that are worked on at once; any number may come
  std::int64_t logit_rows = 0;    ///< rows of logits at once
  dtype type = dtype::bf16;       ///< the target's
};

/// What a head has of its target: raw embedding rows, without the norm that the target's own
/// forward applies, and the bare output head, without multiplier and cap.
struct borrowed_weights {
  tensor embedding;    ///< [vocab, hidden]
  packed_matrix head;  ///< [vocab, hidden]
};

/// Committed rows whose context keys are to be written. All tensors of ids are i32.
struct context_rows {
  tensor features;   ///< [any, taps * hidden]: residuals behind the tapped layers, side by side
  tensor rows;       ///< [n] the ones meant, rows of `features`
  tensor positions;  ///< [n] absolute
  tensor slots;      ///< [n] slots of the sliding group
};

/// Blocks of one call: of each sequence an anchor and mask tokens behind it.
struct draft_blocks {
  tensor tokens;            ///< [rows] i32
  tensor positions;         ///< [rows] i32, the anchor's first
  tensor wanted;            ///< [wanted] i32: rows whose token is asked for, not the anchors'
  tensor valid_from;        ///< [sequences] i32: context before it is neither seen nor read
  attention_layout layout;  ///< rows of the blocks; tables of the sliding group
};

/// Scratch tensors of one call, at their largest.
struct draft_views {
  tensor hidden;      ///< [block rows, hidden] the residual stream h
  tensor normed;      ///< [block rows, hidden]
  tensor sublayer;    ///< [block rows, hidden]
  tensor q;           ///< [block rows, query width], then the attention's output
  tensor k;           ///< [block rows, kv width]
  tensor v;           ///< [block rows, kv width]
  tensor mlp_gate;    ///< [block rows, intermediate]
  tensor mlp_up;      ///< [block rows, intermediate]
  tensor features;    ///< [context rows, taps * hidden]
  tensor context;     ///< [context rows, hidden] C, what every layer makes keys of
  tensor context_k;   ///< [context rows, kv width]
  tensor context_v;   ///< [context rows, kv width]
  tensor draft_rows;  ///< [block rows, hidden] o, behind the final norm
  tensor logits;      ///< [logit rows, vocab] f32
};

/// A DFlash head on one device (spec: section 3 of the published description).
///
///     context   C = norm(fc [r1; r2; ...]);  k = rotate(norm(Wk C)), v = Wv C, for each layer
///     block     h = E[anchor], E[mask], ...
///               h += Wo attend(norm(h));  h += mlp(norm(h)), for each layer
///               z = Whead norm(h)
///
/// Attention sees the block in both directions and the context before it. Bits of a row depend on
/// its own sequence and on the number of rows of its block alone. Used by one thread at a time.
class draft_head {
 public:
  /// `vocab`: rows of the target's tables. Fails with kind `device` when memory is short.
  static result<draft_head> make(device& home, draft_head_config config, draft_head_weights weights,
                                 const draft_limits& limits, std::int64_t vocab);
  /// Bytes of scratch memory that `make` asks the device for.
  static std::size_t scratch_bytes(const draft_head_config& config, const draft_limits& limits,
                                   std::int64_t vocab);

  const draft_head_config& config() const { return config_; }
  const draft_limits& limits() const { return limits_; }

  /// Queues the context keys and values of committed rows, in every layer.
  void extend_context(stream_handle s, const context_rows& rows, const kv_caches& caches);

  /// Queues one pass over the blocks. Returns the wanted rows behind the final norm, [wanted,
  /// hidden]; they live until the next call. The blocks' own keys are kept nowhere.
  tensor run_blocks(stream_handle s, const draft_blocks& blocks, const kv_caches& caches,
                    const borrowed_weights& target);

  /// Queues logits f32 [rows, vocab] of at most `logit_rows` rows of what `run_blocks` returned;
  /// they live until the next call. The target's multiplier and cap are monotone: the best token
  /// is the same without them.
  tensor logits(stream_handle s, tensor rows, const borrowed_weights& target);

 private:
  void run_layer(stream_handle s, std::size_t layer, const draft_blocks& blocks,
                 const kv_cache& cache);
  void attend(stream_handle s, std::size_t layer, const draft_blocks& blocks,
              const kv_cache& cache);
  void finish(stream_handle s, tensor heads, tensor positions, tensor weight);
  draft_views cut(std::int64_t block_rows) const;

  device* home_ = nullptr;
  draft_head_config config_;
  draft_limits limits_;
  draft_head_weights weights_;
  draft_views scratch_;  ///< whole
  draft_views views_;    ///< cut to the call's rows
  device_buffer memory_;
};

}  // namespace glimmer
