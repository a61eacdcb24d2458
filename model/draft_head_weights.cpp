#include "model/draft_head_weights.hpp"

#include <string>
#include <utility>

namespace glimmer {
namespace {

weight_plan plan_memory(device& home, const draft_checkpoint& source,
                        load_quantization quantization) {
  weight_plan plan{home, quantization};
  for (const auto& [name, t] : source.norms) plan.add_norm(*t);
  for (const auto& [name, m] : source.matrices) plan.add_matrix(m);
  return plan;
}

draft_layer_weights load_layer(weight_loader& load, const draft_checkpoint& source,
                               std::int64_t layer) {
  const auto prefix = "layers." + std::to_string(layer) + ".";
  const auto norm = [&](const char* name) { return load.norm(*source.norms.at(prefix + name)); };
  const auto matrix = [&](const char* name) {
    return load.matrix(source.matrices.at(prefix + name));
  };
  return {
      .input_norm = norm("input_layernorm"),
      .post_attention_norm = norm("post_attention_layernorm"),
      .q_norm = norm("self_attn.q_norm"),
      .k_norm = norm("self_attn.k_norm"),
      .q_proj = matrix("self_attn.q_proj"),
      .k_proj = matrix("self_attn.k_proj"),
      .v_proj = matrix("self_attn.v_proj"),
      .o_proj = matrix("self_attn.o_proj"),
      .mlp_gate = matrix("mlp.gate_proj"),
      .mlp_up = matrix("mlp.up_proj"),
      .mlp_down = matrix("mlp.down_proj"),
  };
}

}  // namespace

std::size_t draft_weight_bytes(device& home, const draft_checkpoint& source,
                               load_quantization quantization) {
  const auto plan = plan_memory(home, source, quantization);
  return plan.resident() + plan.staging();
}

result<draft_head_weights> load_draft_weights(device& home, const draft_checkpoint& source,
                                              load_quantization quantization) {
  auto load = weight_loader::make(home, source.files, plan_memory(home, source, quantization));
  if (!load) return fail(load.error());
  load->demand_finite();
  draft_head_weights weights;
  weights.fc = load->matrix(source.matrices.at("encoder.fc"));
  weights.encoder_norm = load->norm(*source.norms.at("encoder.output_norm_enc"));
  for (std::int64_t i = 0; i < source.config.layers && !load->refusal(); ++i) {
    weights.layers.push_back(load_layer(*load, source, i));
  }
  weights.final_norm = load->norm(*source.norms.at("norm"));
  weights.memory = load->finish();
  if (load->refusal()) return fail(of_draft_head(*load->refusal()));
  return weights;
}

}  // namespace glimmer
