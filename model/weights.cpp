#include "model/weights.hpp"

#include <utility>

#include "base/assert.hpp"
#include "model/weight_loader.hpp"

namespace glimmer {
namespace {

constexpr std::string_view embedding_name = "model.language_model.embed_tokens.weight";

/// A matrix by the name of its plain tensor.
const stored_matrix& matrix_of(const checkpoint& source, const std::string& name) {
  const auto at = source.matrices.find(name.substr(0, name.rfind('.')));
  GLIMMER_ASSERT(at != source.matrices.end(), "open_checkpoint found every matrix");
  return at->second;
}

const stored_tensor& tensor_of(const checkpoint& source, const std::string& name) {
  const auto* t = source.files.find(name);
  GLIMMER_ASSERT(t != nullptr, "open_checkpoint found every tensor");
  return *t;
}

weight_plan plan_memory(device& home, const checkpoint& source, load_quantization quantization) {
  weight_plan plan{home, quantization};
  for (const auto& e : expected_tensors(source.config)) {
    if (e.of != expected_tensor::part::text) continue;
    if (e.name == embedding_name) {
      plan.add_table(tensor_of(source, e.name));
    } else if (e.shape.size() == 2) {
      plan.add_matrix(matrix_of(source, e.name));
    } else {
      plan.add_norm(tensor_of(source, e.name));
    }
  }
  return plan;
}

layer_weights load_layer(weight_loader& load, const checkpoint& source, std::int64_t layer) {
  const auto prefix = "model.language_model.layers." + std::to_string(layer) + ".";
  const auto norm = [&](const char* name) {
    return load.norm(tensor_of(source, prefix + name + ".weight"));
  };
  const auto matrix = [&](const char* name) {
    return load.matrix(matrix_of(source, prefix + name + ".weight"));
  };
  return {
      .input_norm = norm("input_layernorm"),
      .post_attention_norm = norm("post_attention_layernorm"),
      .pre_feedforward_norm = norm("pre_feedforward_layernorm"),
      .post_feedforward_norm = norm("post_feedforward_layernorm"),
      .q_proj = matrix("self_attn.q_proj"),
      .k_proj = matrix("self_attn.k_proj"),
      .v_proj = matrix("self_attn.v_proj"),
      .attention_gate = matrix("self_attn.gate_proj"),
      .o_proj = matrix("self_attn.o_proj"),
      .mlp_gate = matrix("mlp.gate_proj"),
      .mlp_up = matrix("mlp.up_proj"),
      .mlp_down = matrix("mlp.down_proj"),
  };
}

}  // namespace

std::size_t weight_bytes(device& home, const checkpoint& source, load_quantization quantization) {
  const auto plan = plan_memory(home, source, quantization);
  return plan.resident() + plan.staging();
}

result<decoder_weights> load_weights(device& home, const checkpoint& source,
                                     load_quantization quantization) {
  auto load = weight_loader::make(home, source.files, plan_memory(home, source, quantization));
  if (!load) return fail(load.error());
  decoder_weights weights;
  weights.embedding = load->table(tensor_of(source, std::string{embedding_name}));
  for (std::int64_t i = 0; i < source.config.text.layers && !load->refusal(); ++i) {
    weights.layers.push_back(load_layer(*load, source, i));
  }
  weights.final_norm = load->norm(tensor_of(source, "model.language_model.norm.weight"));
  weights.head = load->matrix(matrix_of(source, "lm_head.weight"));
  weights.buffers.push_back(load->finish());
  if (load->refusal()) return fail(*load->refusal());
  return weights;
}

}  // namespace glimmer
