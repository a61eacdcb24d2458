#pragma once

#include "gpu/device.hpp"
#include "gpu/ops.hpp"
#include "model/activations.hpp"
#include "model/config.hpp"
#include "model/weights.hpp"

namespace glimmer {

/// What a layer needs beside its weights: where the rows stand, and this layer's cache.
struct layer_inputs {
  tensor positions;  ///< [rows] i32
  tensor slots;      ///< [rows] i32 into the layer's cache
  const attention_layout* layout = nullptr;
  const kv_cache* cache = nullptr;
  std::int64_t block_size = 0;
};

/// Where a layer's ops are queued.
struct op_queue {
  ops* op = nullptr;
  stream_handle stream;
};

/// Queues decoder layer `index` over views.hidden, in place:
///
///     x = norm(h);  a = attention(x);  h += norm(a);  x = norm(h);  m = mlp(x);  h += norm(m)
void run_layer(const op_queue& queue, const text_config& config, std::size_t index,
               const layer_weights& weights, const layer_inputs& inputs,
               const activation_views& views);

}  // namespace glimmer
