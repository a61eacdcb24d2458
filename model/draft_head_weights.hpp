#pragma once

#include <vector>

#include "base/result.hpp"
#include "gpu/device.hpp"
#include "gpu/ops.hpp"
#include "model/draft_checkpoint.hpp"
#include "model/weight_loader.hpp"

namespace glimmer {

/// Weights of one layer of a DFlash head; names as published. Norms are plain, f32 as stored.
struct draft_layer_weights {
  tensor input_norm;           ///< [hidden]
  tensor post_attention_norm;  ///< [hidden], in front of the MLP
  tensor q_norm;               ///< [head_dim]
  tensor k_norm;               ///< [head_dim]
  packed_matrix q_proj;        ///< [query width, hidden]
  packed_matrix k_proj;        ///< [kv width, hidden]
  packed_matrix v_proj;        ///< [kv width, hidden]
  packed_matrix o_proj;        ///< [hidden, query width]
  packed_matrix mlp_gate;      ///< [intermediate, hidden]
  packed_matrix mlp_up;        ///< [intermediate, hidden]
  packed_matrix mlp_down;      ///< [hidden, intermediate]
};

/// A DFlash head's weights in device memory; owns it. Embedding and output head are the target's.
struct draft_head_weights {
  packed_matrix fc;     ///< [hidden, taps * hidden]
  tensor encoder_norm;  ///< [hidden]
  std::vector<draft_layer_weights> layers;
  tensor final_norm;  ///< [hidden]
  device_buffer memory;
};

/// Bytes of device memory that `load_draft_weights` will take, staging included.
std::size_t draft_weight_bytes(device& home, const draft_checkpoint& source,
                               load_quantization quantization = load_quantization::none);

/// Uploads and packs the head's weights; blocks until all is on the device. Refuses NaN, infinity.
result<draft_head_weights> load_draft_weights(
    device& home, const draft_checkpoint& source,
    load_quantization quantization = load_quantization::none);

}  // namespace glimmer
