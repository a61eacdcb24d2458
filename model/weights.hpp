#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/device.hpp"
#include "gpu/ops.hpp"
#include "model/checkpoint.hpp"
#include "model/config.hpp"
#include "model/weight_loader.hpp"

namespace glimmer {

/// Weights of one decoder layer; names as in the published checkpoint. Norm weights are f32
/// [hidden] as stored (the centred norm adds its 1 in fp32).
struct layer_weights {
  tensor input_norm;
  tensor post_attention_norm;
  tensor pre_feedforward_norm;
  tensor post_feedforward_norm;
  packed_matrix q_proj;          ///< [query width, hidden]
  packed_matrix k_proj;          ///< [kv width, hidden]
  packed_matrix v_proj;          ///< [kv width, hidden]
  packed_matrix attention_gate;  ///< [query width, hidden]: one value per output element
  packed_matrix o_proj;          ///< [hidden, query width]
  packed_matrix mlp_gate;        ///< [intermediate, hidden]
  packed_matrix mlp_up;          ///< [intermediate, hidden]
  packed_matrix mlp_down;        ///< [hidden, intermediate]
};

/// The text decoder's weights in device memory; owns it. Immutable after loading.
struct decoder_weights {
  tensor embedding;  ///< [vocab, hidden] raw rows, not normalised, in the file's type
  std::vector<layer_weights> layers;
  tensor final_norm;   ///< f32 [hidden]
  packed_matrix head;  ///< [vocab, hidden]
  std::vector<device_buffer> buffers;
};

/// Bytes of device memory that `load_weights` will take, staging included.
std::size_t weight_bytes(device& home, const checkpoint& source,
                         load_quantization quantization = load_quantization::none);

/// Uploads and packs the text decoder's weights. Reads the mapped files once, front to back.
/// Blocks until all is on the device.
result<decoder_weights> load_weights(device& home, const checkpoint& source,
                                     load_quantization quantization = load_quantization::none);

}  // namespace glimmer
