#include "tests/model/reference_decoder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tests/model/reference_math.hpp"

namespace glimmer {
namespace {

using row = double_row;

/// The nearest value of E4M3, ties to even, +-448 at most.
double e4m3(double x) {
  if (x == 0) return x;
  const int exponent = std::max(std::ilogb(x), -6);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, 3 - exponent)), exponent - 3);
  return std::clamp(rounded, -448.0, 448.0);
}

/// What an activation's 8-bit codes stand for, in groups of 16 columns.
row rounded_to_codes(row x) {
  for (std::size_t begin = 0; begin < x.size(); begin += 16) {
    const auto group = std::span{x}.subspan(begin, std::min<std::size_t>(16, x.size() - begin));
    float most = 0;
    for (const double v : group) most = std::max(most, static_cast<float>(std::abs(v)));
    const float scale = most / 127.0f;
    for (double& v : group)
      if (scale > 0) v = std::nearbyint(static_cast<float>(v) / scale) * static_cast<double>(scale);
  }
  return x;
}

std::vector<float> widened(const stored_tensor& t) {
  std::vector<float> out(t.count());
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, t.data.data() + 2 * i, sizeof bits);
    out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  return out;
}

}  // namespace

std::string_view to_string(trap t) {
  static constexpr std::string_view names[] = {
      "none",
      "no embedding norm",
      "w instead of 1 + w in the layer norms",
      "1 + w in the final norm",
      "eps 1e-5 behind the sublayers",
      "rotation on full layers",
      "no rotation on sliding layers",
      "a window one short",
      "a window one long",
      "no scale on q",
      "the scale on k too",
      "no gate",
      "a gate fed from the residual",
      "kv head by remainder",
      "interleaved rotation",
      "no output multiplier",
      "no cap",
  };
  return names[static_cast<int>(t)];
}

reference_decoder::reference_decoder(const checkpoint& source, cache_rules cache)
    : config_{source.config.text}, cache_{cache} {
  for (const auto& e : expected_tensors(source.config)) {
    if (e.of != expected_tensor::part::text) continue;
    const auto matrix = source.matrices.find(e.name.substr(0, e.name.rfind('.')));
    const bool four_bits =
        matrix != source.matrices.end() && matrix->second.source() == dtype::f4_pair;
    if (four_bits) rounding_.insert(e.name);
    weights_.emplace(e.name, matrix == source.matrices.end() ? widened(*source.files.find(e.name))
                                                             : dequantised(matrix->second));
  }
}

reference_decoder::row reference_decoder::product(const row& x, const std::string& module) const {
  const auto name = module + ".weight";
  return linear(rounding_.contains(name) ? rounded_to_codes(x) : x, weight(name));
}

reference_decoder::rows reference_decoder::embed(std::span<const token_id> tokens,
                                                 trap wrong) const {
  const auto& table = weight("model.language_model.embed_tokens.weight");
  const auto width = static_cast<std::size_t>(config_.hidden_size);
  rows h;
  for (const auto token : tokens) {
    const auto* at = table.data() + static_cast<std::size_t>(token) * width;
    const row e(at, at + width);
    h.push_back(wrong == trap::no_embedding_norm ? e : normed(e, config_.norm_eps, nullptr, 0));
  }
  return h;
}

void reference_decoder::finish(row& heads, std::int64_t position, double scale,
                               rotation how) const {
  const auto dim = config_.head_dim;
  for (std::size_t at = 0; at < heads.size(); at += static_cast<std::size_t>(dim)) {
    const row head(heads.begin() + static_cast<std::ptrdiff_t>(at),
                   heads.begin() + static_cast<std::ptrdiff_t>(at) + dim);
    const auto y = normed(head, config_.norm_eps, nullptr, 0);
    for (std::size_t d = 0; d < y.size(); ++d) heads[at + d] = y[d] * scale;
    if (how != rotation::none) rotate({&heads[at], y.size()}, position, config_.rope_theta, how);
  }
}

/// The last query of `q` over the keys it may see.
reference_decoder::row reference_decoder::attend(const rows& q, const rows& k, const rows& v,
                                                 std::int64_t window, trap wrong) const {
  const auto position = static_cast<std::int64_t>(q.size()) - 1;
  const auto zeros = cache_.first_position;  // keys before the first token's
  const auto seen = window == 0 ? zeros + position + 1 : std::min(window, zeros + position + 1);
  const auto first = std::max<std::int64_t>(0, position + 1 - seen);
  const auto zeros_seen = static_cast<double>(seen - (position + 1 - first));
  const auto dim = config_.head_dim;
  row out(static_cast<std::size_t>(config_.query_width()));
  for (std::int64_t head = 0; head < config_.query_heads; ++head) {
    const auto kv = wrong == trap::interleaved_heads
                        ? head % config_.kv_heads
                        : head / (config_.query_heads / config_.kv_heads);
    row score;
    for (auto j = first; j <= position; ++j) {
      double s = 0;
      for (std::int64_t d = 0; d < dim; ++d) s += q.back()[head * dim + d] * k[j][kv * dim + d];
      score.push_back(s / std::sqrt(static_cast<double>(dim)));
    }
    const double top =
        std::max(*std::max_element(score.begin(), score.end()), zeros_seen > 0 ? 0.0 : -1e300);
    double sum = zeros_seen * std::exp(-top);
    for (double& s : score) sum += s = std::exp(s - top);
    for (auto j = first; j <= position; ++j) {
      const double p = score[static_cast<std::size_t>(j - first)] / sum;
      for (std::int64_t d = 0; d < dim; ++d) out[head * dim + d] += p * v[j][kv * dim + d];
    }
  }
  return out;
}

reference_decoder::rows reference_decoder::attention(const rows& x, const rows& gate_input,
                                                     std::int64_t layer, trap wrong) const {
  const auto prefix = "model.language_model.layers." + std::to_string(layer) + ".self_attn.";
  const bool sliding = config_.layer_groups[static_cast<std::size_t>(layer)] == kv_group::sliding;
  bool rotates = config_.layer_rotates[static_cast<std::size_t>(layer)] != 0;
  if (wrong == trap::rotated_full_layers) rotates = true;
  if (wrong == trap::unrotated_sliding_layers && sliding) rotates = false;
  const auto how = !rotates                              ? rotation::none
                   : wrong == trap::interleaved_rotation ? rotation::interleaved
                                                         : rotation::half_split;
  std::int64_t window = sliding ? config_.window : 0;
  if (sliding && wrong == trap::window_one_short) --window;
  if (sliding && wrong == trap::window_one_long) ++window;
  const double scale = wrong == trap::no_query_scale ? 1.0 : config_.qk_scale;
  rows q;
  rows k;
  rows v;
  rows out;
  for (std::size_t t = 0; t < x.size(); ++t) {
    const auto position = cache_.first_position + static_cast<std::int64_t>(t);
    q.push_back(product(x[t], prefix + "q_proj"));
    k.push_back(product(x[t], prefix + "k_proj"));
    v.push_back(product(x[t], prefix + "v_proj"));
    finish(q.back(), position, scale, how);
    finish(k.back(), position, wrong == trap::key_scale_too ? scale : 1.0, how);
    if (cache_.rounds_to_e4m3) {
      std::ranges::transform(k.back(), k.back().begin(), e4m3);
      std::ranges::transform(v.back(), v.back().begin(), e4m3);
    }
    auto o = attend(q, k, v, window, wrong);
    const auto g = product(gate_input[t], prefix + "gate_proj");
    for (std::size_t i = 0; i < o.size(); ++i) {
      if (wrong != trap::no_gate) o[i] *= sigmoid(g[i]);
    }
    out.push_back(product(o, prefix + "o_proj"));
  }
  return out;
}

reference_decoder::rows reference_decoder::mlp(const rows& x, std::int64_t layer) const {
  const auto prefix = "model.language_model.layers." + std::to_string(layer) + ".mlp.";
  rows out;
  for (const auto& r : x) {
    auto gate = product(r, prefix + "gate_proj");
    const auto up = product(r, prefix + "up_proj");
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= sigmoid(gate[i]) * up[i];
    out.push_back(product(gate, prefix + "down_proj"));
  }
  return out;
}

void reference_decoder::run_layer(rows& h, std::int64_t layer, trap wrong) const {
  const auto prefix = "model.language_model.layers." + std::to_string(layer) + ".";
  const double offset = wrong == trap::plain_layer_norms ? 0.0 : 1.0;
  const double post_eps = wrong == trap::one_eps ? config_.norm_eps : config_.post_norm_eps;
  const auto norm = [&](const rows& x, const char* name, double eps) {
    rows out;
    for (const auto& r : x) {
      out.push_back(normed(r, eps, &weight(prefix + name + ".weight"), offset));
    }
    return out;
  };
  const auto add = [&](const rows& u) {
    for (std::size_t t = 0; t < h.size(); ++t) {
      for (std::size_t i = 0; i < h[t].size(); ++i) h[t][i] += u[t][i];
    }
  };
  const auto x = norm(h, "input_layernorm", config_.norm_eps);
  const auto& gate_input = wrong == trap::gate_from_residual ? h : x;
  add(norm(attention(x, gate_input, layer, wrong), "post_attention_layernorm", post_eps));
  const auto y = norm(h, "pre_feedforward_layernorm", config_.norm_eps);
  add(norm(mlp(y, layer), "post_feedforward_layernorm", post_eps));
}

std::vector<float> reference_decoder::logits(std::span<const token_id> tokens, trap wrong) const {
  auto h = embed(tokens, wrong);
  for (std::int64_t i = 0; i < config_.layers; ++i) run_layer(h, i, wrong);
  std::vector<float> out;
  const double multiplier = wrong == trap::no_multiplier ? 1.0 : config_.output_multiplier;
  const double cap = config_.logit_cap;
  for (const auto& r : h) {
    const double offset = wrong == trap::centred_final_norm ? 1.0 : 0.0;
    const auto y = normed(r, config_.norm_eps, &weight("model.language_model.norm.weight"), offset);
    for (const double z : product(y, "lm_head")) {
      const double scaled = multiplier * z;
      out.push_back(
          static_cast<float>(wrong == trap::no_cap ? scaled : cap * std::tanh(scaled / cap)));
    }
  }
  return out;
}

}  // namespace glimmer
