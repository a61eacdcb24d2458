#include "tools/make_checkpoint/weight_rule.hpp"

#include <bit>
#include <charconv>
#include <cmath>

namespace glimmer {
namespace {

constexpr std::uint64_t golden_gamma = 0x9E3779B97F4A7C15;

std::uint64_t splitmix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// Scale that gives a product over `inputs` unit-RMS inputs the standard deviation 1.
double unit_scale(std::int64_t inputs) {
  return std::sqrt(3.0 / static_cast<double>(inputs));
}

/// In every third layer the sublayer outputs are so small (RMS near 3e-3) that the post-norm's
/// eps of 1e-8 against 1e-5 is a factor of about 1.4.
bool quiet_layer(std::string_view name) {
  const auto at = name.find("layers.");
  std::int64_t layer = 0;
  std::from_chars(name.data() + at + 7, name.data() + name.size(), layer);
  return layer % 3 == 1;
}

weight_rule text_rule(const text_config& t, std::string_view name) {
  using form = weight_rule::form;
  const auto named = [&](std::string_view ending) { return name.ends_with(ending); };
  if (named("embed_tokens.weight")) return {form::embedding};
  if (name == "model.language_model.norm.weight") return {form::final_norm};
  if (named("post_attention_layernorm.weight")) return {form::centred_norm, 0.1, -0.9};
  if (named("post_feedforward_layernorm.weight")) return {form::centred_norm, 0.2, -0.8};
  if (named("norm.weight")) return {form::centred_norm, 0.4};
  if (name == "lm_head.weight") return {form::uniform, 1.0};
  if (named("self_attn.q_proj.weight")) return {form::query, unit_scale(t.hidden_size)};
  if (named("self_attn.gate_proj.weight")) return {form::uniform, 2 * unit_scale(t.hidden_size)};
  if (named("self_attn.o_proj.weight")) {
    return {form::uniform, (quiet_layer(name) ? 0.0075 : 1.0) * unit_scale(t.query_width())};
  }
  if (named("mlp.down_proj.weight")) {
    return {form::uniform, (quiet_layer(name) ? 0.005 : 1.0) * unit_scale(t.intermediate_size)};
  }
  return {form::uniform, unit_scale(t.hidden_size)};
}

/// A draft head's tensors have no prefix.
bool is_of_head(std::string_view name) {
  return name.starts_with("encoder.") || name.starts_with("layers.") || name == "norm.weight";
}

/// Plain norms, around 1; those of q and k above it, so that scores tell positions apart.
weight_rule head_rule(const expected_tensor& tensor) {
  using form = weight_rule::form;
  const std::string_view name = tensor.name;
  if (name.ends_with("q_norm.weight") || name.ends_with("k_norm.weight")) {
    return {form::uniform, 0.3, 1.5};
  }
  if (tensor.shape.size() == 1) return {form::uniform, 0.4, 1.0};
  return {form::uniform, unit_scale(tensor.shape[1])};
}

weight_rule vision_rule(const expected_tensor& tensor) {
  using form = weight_rule::form;
  const std::string_view name = tensor.name;
  if (name.ends_with(".bias")) return {form::uniform, 0.2};
  if (tensor.shape.size() == 1) return {form::uniform, 0.3, 1.0};
  if (name.ends_with("position_embedding_table.weight")) return {form::uniform, 1.0};
  return {form::uniform, unit_scale(tensor.shape[1])};
}

/// 2^k * (1 + f) / 64 for k in 0..9 and f in [0, 1): log-uniform but for the straight lines
/// between powers of two, and exact in double.
double row_amplitude(const weight_stream& rows, std::uint64_t row) {
  const double octaves = 5.0 * (rows.at(row) + 1.0);  // [0, 10)
  const double whole = std::floor(octaves);
  return std::ldexp(1.0 + (octaves - whole), static_cast<int>(whole)) / 64.0;
}

template <class Value>
void fill(std::uint64_t first, std::span<std::uint16_t> out, const Value& value) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = bf16_bits(static_cast<float>(value(first + i)));
  }
}

void fill_query(const text_config& t, const expected_tensor& tensor, std::uint64_t first,
                std::span<std::uint16_t> out) {
  const auto dim = static_cast<std::uint64_t>(t.head_dim);
  const auto width = static_cast<std::uint64_t>(t.hidden_size);
  const auto group = static_cast<std::uint64_t>(t.query_heads / t.kv_heads);
  std::string key_name = tensor.name;
  key_name[key_name.rfind("q_proj")] = 'k';
  const weight_stream own{tensor.name};
  const weight_stream keys{key_name};
  const double scale = unit_scale(t.hidden_size);
  const double likeness = 1.0 / std::sqrt(static_cast<double>(dim));
  fill(first, out, [&](std::uint64_t n) {
    const auto row = n / width;
    const auto key_row = row / dim / group * dim + row % dim;
    const double key = keys.at(key_row * width + n % width);
    return scale * (own.at(n) + likeness * key);
  });
}

}  // namespace

weight_stream::weight_stream(std::string_view name) : seed_{0xCBF29CE484222325} {
  for (const char c : name) seed_ = (seed_ ^ static_cast<unsigned char>(c)) * 0x100000001B3;
}

double weight_stream::at(std::uint64_t n) const {
  const auto top = splitmix64(seed_ + n * golden_gamma) >> 40;
  return static_cast<double>(top) / 8388608.0 - 1.0;
}

std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

weight_rule rule_for(const model_config& config, const expected_tensor& tensor) {
  if (is_of_head(tensor.name)) return head_rule(tensor);
  return tensor.of == expected_tensor::part::text ? text_rule(config.text, tensor.name)
                                                  : vision_rule(tensor);
}

void fill_weights(const model_config& config, const expected_tensor& tensor, std::uint64_t first,
                  std::span<std::uint16_t> out) {
  const auto rule = rule_for(config, tensor);
  const weight_stream stream{tensor.name};
  switch (rule.shape) {
    case weight_rule::form::uniform:
      return fill(first, out, [&](auto n) { return rule.offset + rule.scale * stream.at(n); });
    case weight_rule::form::centred_norm:
      return fill(first, out, [&](auto n) {
        return n % 61 == 7 ? -1.0 : rule.offset + rule.scale * stream.at(n);
      });
    case weight_rule::form::final_norm:
      return fill(first, out, [&](auto n) {
        const double w = 1.0 + 0.5 * stream.at(n);
        return n % 13 == 5 ? -w : w;
      });
    case weight_rule::form::embedding: {
      const weight_stream rows{tensor.name + "#rows"};
      const auto width = static_cast<std::uint64_t>(tensor.shape[1]);
      return fill(first, out,
                  [&](auto n) { return row_amplitude(rows, n / width) * stream.at(n); });
    }
    case weight_rule::form::query: return fill_query(config.text, tensor, first, out);
  }
}

}  // namespace glimmer
