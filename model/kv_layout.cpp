#include "model/kv_layout.hpp"

namespace glimmer {
namespace {

constexpr std::size_t index_of(kv_group group) {
  return static_cast<std::size_t>(group);
}

}  // namespace

kv_layout kv_layout::of(const text_config& config, std::int64_t block_size, dtype type) {
  kv_layout layout;
  layout.block_size = block_size;
  layout.kv_heads = config.kv_heads;
  layout.head_dim = config.head_dim;
  layout.type = type;
  for (const auto group : config.layer_groups) ++layout.layers[index_of(group)];
  return layout;
}

kv_layout kv_layout::with(const draft_head_config& head, dtype activations) const {
  kv_layout out = *this;
  out.draft_layers = head.layers;
  out.draft_kv_heads = head.kv_heads;
  out.draft_head_dim = head.head_dim;
  out.draft_type = activations;
  return out;
}

std::size_t kv_layout::block_bytes(kv_group group) const {
  const auto elements = 2 * layers[index_of(group)] * block_size * kv_heads * head_dim;
  const auto own = static_cast<std::size_t>(elements) * size_of(type);
  if (group != kv_group::sliding) return own;
  const auto drafting = 2 * draft_layers * block_size * draft_kv_heads * draft_head_dim;
  return own + static_cast<std::size_t>(drafting) * size_of(draft_type);
}

result<kv_caches> kv_caches::allocate(device& home, const text_config& config,
                                      const kv_layout& layout, const kv_block_counts& blocks) {
  kv_caches caches;
  caches.layout_ = layout;
  caches.blocks_ = blocks;
  caches.groups_ = config.layer_groups;
  for (const auto group : config.layer_groups) {
    const tensor_shape shape{blocks[index_of(group)], layout.kv_heads, layout.block_size,
                             layout.head_dim};
    const auto cache = caches.allocate_layer(home, shape, layout.type);
    if (!cache) return fail(cache.error());
    caches.layers_.push_back(*cache);
  }
  for (std::int64_t i = 0; i < layout.draft_layers; ++i) {
    const tensor_shape shape{blocks[index_of(kv_group::sliding)], layout.draft_kv_heads,
                             layout.block_size, layout.draft_head_dim};
    const auto cache = caches.allocate_layer(home, shape, layout.draft_type);
    if (!cache) return fail(cache.error());
    caches.draft_layers_.push_back(*cache);
  }
  return caches;
}

result<kv_cache> kv_caches::allocate_layer(device& home, const tensor_shape& shape, dtype type) {
  kv_cache cache;
  for (auto* half : {&cache.keys, &cache.values}) {
    auto buffer = home.allocate(static_cast<std::size_t>(shape.count()) * size_of(type));
    if (!buffer) return fail(buffer.error());
    *half = buffer->view(type, shape);
    buffers_.push_back(std::move(*buffer));
  }
  return cache;
}

void kv_caches::copy_block(ops& op, stream_handle s, kv_group group, block_id from,
                           block_id to) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (groups_[i] == group) op.copy_block(s, layers_[i], {from, to});
  }
  if (group != kv_group::sliding) return;
  for (const auto& cache : draft_layers_) op.copy_block(s, cache, {from, to});
}

}  // namespace glimmer
