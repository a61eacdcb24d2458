#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "gpu/device.hpp"
#include "gpu/ops.hpp"
#include "model/config.hpp"
#include "model/draft_head_config.hpp"

namespace glimmer {

/// Sizes of the KV cache: a block holds keys and values of `block_size` positions for every layer
/// of its group.
///
///     group     layers   one block (30B, bf16, block_size 16)
///     full      13       13 * 2 * 16 * 2 heads * 128 * 2 bytes = 212,992
///     sliding   39       638,976
///     sliding   39 + 5   966,656, with the released draft head
///
/// A draft head's layers are layers of the sliding group: their rows lie in the same slots, so
/// whatever copies, shares, drops or counts blocks does it for them as well.
struct kv_layout {
  std::int64_t block_size = 16;  ///< positions
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  dtype type = dtype::bf16;
  std::array<std::int64_t, kv_group_count> layers{};  ///< per group, the target's alone
  std::int64_t draft_layers = 0;
  std::int64_t draft_kv_heads = 0;
  std::int64_t draft_head_dim = 0;
  dtype draft_type = dtype::bf16;

  static kv_layout of(const text_config& config, std::int64_t block_size, dtype type);
  /// The same with the layers of a draft head, whose rows have the type of its activations whatever
  /// the target's are rounded to: they are few, and a block's own keys are compared with them.
  kv_layout with(const draft_head_config& head, dtype activations) const;

  /// Bytes that one block of `group` takes over all its layers.
  std::size_t block_bytes(kv_group group) const;
};

/// Number of blocks per KV group, indexed by `kv_group`.
using kv_block_counts = std::array<std::int64_t, kv_group_count>;

/// Keys and values of every layer in device memory. Layers of one group share block ids, so one
/// block table serves them all. Contents start undefined.
class kv_caches {
 public:
  kv_caches() = default;
  /// Allocates everything at once. Fails with kind `device` when memory is short.
  static result<kv_caches> allocate(device& home, const text_config& config,
                                    const kv_layout& layout, const kv_block_counts& blocks);

  const kv_layout& layout() const { return layout_; }
  std::int64_t blocks(kv_group group) const { return blocks_[static_cast<std::size_t>(group)]; }
  /// The cache of layer `layer`, [blocks, kv_heads, block_size, head_dim] each.
  const kv_cache& layer(std::size_t layer) const { return layers_[layer]; }
  /// The cache of the draft head's layer `layer`, of as many blocks as the sliding group has.
  const kv_cache& draft_layer(std::size_t layer) const { return draft_layers_[layer]; }
  /// Queues copies of block `from` to block `to` in every layer of `group`, the head's included.
  void copy_block(ops& op, stream_handle s, kv_group group, block_id from, block_id to) const;

 private:
  result<kv_cache> allocate_layer(device& home, const tensor_shape& shape, dtype type);

  kv_layout layout_;
  kv_block_counts blocks_{};
  std::vector<kv_group> groups_;  // per layer
  std::vector<kv_cache> layers_;
  std::vector<kv_cache> draft_layers_;
  std::vector<device_buffer> buffers_;
};

}  // namespace glimmer
