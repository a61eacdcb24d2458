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

std::size_t kv_layout::block_bytes(kv_group group) const {
  const auto elements = 2 * layers[index_of(group)] * block_size * kv_heads * head_dim;
  return static_cast<std::size_t>(elements) * size_of(type);
}

result<kv_caches> kv_caches::allocate(device& home, const text_config& config,
                                      const kv_layout& layout, const kv_block_counts& blocks) {
  kv_caches caches;
  caches.layout_ = layout;
  caches.blocks_ = blocks;
  caches.groups_ = config.layer_groups;
  for (const auto group : config.layer_groups) {
    const tensor_shape shape{blocks[index_of(group)], layout.block_size, layout.kv_heads,
                             layout.head_dim};
    kv_cache cache;
    for (auto* half : {&cache.keys, &cache.values}) {
      auto buffer = home.allocate(static_cast<std::size_t>(shape.count()) * size_of(layout.type));
      if (!buffer) return fail(buffer.error());
      *half = buffer->view(layout.type, shape);
      caches.buffers_.push_back(std::move(*buffer));
    }
    caches.layers_.push_back(cache);
  }
  return caches;
}

void kv_caches::copy_block(ops& op, stream_handle s, kv_group group, block_id from,
                           block_id to) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (groups_[i] == group) op.copy_block(s, layers_[i], {from, to});
  }
}

}  // namespace glimmer
