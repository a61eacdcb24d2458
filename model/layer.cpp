#include "model/layer.hpp"

#include <cmath>

namespace glimmer {
namespace {

/// One layer's ops with everything but the tensors filled in, so that the layer below reads as its
/// equations.
class layer_ops {
 public:
  layer_ops(const op_queue& queue, const text_config& config, bool rotates)
      : op_{*queue.op}, stream_{queue.stream}, config_{config}, rotates_{rotates} {}

  void norm(tensor out, tensor x, tensor weight) const {
    op_.rms_norm(stream_, out, x, weight, norm_kind::centred, config_.norm_eps);
  }
  void post_norm(tensor out, tensor x, tensor weight) const {
    op_.rms_norm(stream_, out, x, weight, norm_kind::centred, config_.post_norm_eps);
  }
  void linear(tensor out, tensor x, const packed_matrix& w) const {
    op_.matmul(stream_, out, x, w);
  }
  /// q and k of a layer: weightless norm per head, scale, rotation.
  void finish(tensor heads, tensor positions, float scale) const {
    op_.finish_heads(stream_, heads, positions,
                     {.head_dim = config_.head_dim,
                      .eps = config_.norm_eps,
                      .scale = scale,
                      .rotate = rotates_,
                      .rope_theta = config_.rope_theta});
  }
  void store(const layer_inputs& in, tensor k, tensor v) const {
    op_.store_kv(stream_, *in.cache, k, v, in.slots);
  }
  void attend(tensor q, const layer_inputs& in, std::int64_t window) const {
    op_.attention(stream_, q, q, *in.cache, *in.layout,
                  {.query_heads = config_.query_heads,
                   .kv_heads = config_.kv_heads,
                   .head_dim = config_.head_dim,
                   .block_size = in.block_size,
                   .window = window,
                   .scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim))});
  }
  void gate(tensor o, tensor g) const { op_.sigmoid_gate(stream_, o, g); }
  void silu_product(tensor gate, tensor up) const { op_.silu_product(stream_, gate, up); }
  void add(tensor h, tensor u) const { op_.add(stream_, h, u); }

 private:
  ops& op_;
  stream_handle stream_;
  const text_config& config_;
  bool rotates_;
};

}  // namespace

void run_layer(const op_queue& queue, const text_config& config, std::size_t index,
               const layer_weights& w, const layer_inputs& in, const activation_views& views) {
  const layer_ops op{queue, config, config.layer_rotates[index] != 0};
  const auto& [h, x, sublayer, q, k, v, gate, mlp_gate, mlp_up, head_rows, logits] = views;
  const auto window = config.layer_groups[index] == kv_group::sliding ? config.window : 0;

  op.norm(x, h, w.input_norm);
  op.linear(q, x, w.q_proj);
  op.linear(k, x, w.k_proj);
  op.linear(v, x, w.v_proj);
  op.linear(gate, x, w.attention_gate);
  op.finish(q, in.positions, config.qk_scale);
  op.finish(k, in.positions, 1.0f);
  op.store(in, k, v);
  op.attend(q, in, window);
  op.gate(q, gate);
  op.linear(sublayer, q, w.o_proj);
  op.post_norm(x, sublayer, w.post_attention_norm);
  op.add(h, x);

  op.norm(x, h, w.pre_feedforward_norm);
  op.linear(mlp_gate, x, w.mlp_gate);
  op.linear(mlp_up, x, w.mlp_up);
  op.silu_product(mlp_gate, mlp_up);
  op.linear(sublayer, mlp_gate, w.mlp_down);
  op.post_norm(x, sublayer, w.post_feedforward_norm);
  op.add(h, x);
}

}  // namespace glimmer
