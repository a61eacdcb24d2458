#include "tests/model/reference_draft_head.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "model/element.hpp"

namespace glimmer {
namespace {

using row = double_row;

std::vector<float> widened(const stored_tensor& t) {
  std::vector<float> out(t.count());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = element(t, i);
  return out;
}

void add(row& to, const row& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

}  // namespace

std::string_view to_string(draft_trap t) {
  static constexpr std::string_view names[] = {
      "none",
      "normed embeddings",
      "a wrong mask token",
      "permuted taps",
      "a causal block",
      "1 + w in the norms",
      "interleaved rotation",
      "context through the layers' input norms",
      "the block one position early",
      "no window",
      "a window one short",
      "a window counted from 0",
      "no context",
  };
  return names[static_cast<int>(t)];
}

reference_draft_head::reference_draft_head(const draft_checkpoint& head, const checkpoint& target)
    : config_{head.config},
      eps_{head.config.norm_eps},
      embedding_{widened(*target.files.find("model.language_model.embed_tokens.weight"))},
      output_{dequantised(target.matrices.at("lm_head"))} {
  for (const auto& [name, t] : head.norms) weights_.emplace(name, widened(*t));
  for (const auto& [name, m] : head.matrices) weights_.emplace(name, dequantised(m));
}

reference_draft_head::row reference_draft_head::norm(const row& x, const std::string& name,
                                                     draft_trap wrong) const {
  return normed(x, eps_, &weight(name), wrong == draft_trap::centred_norms ? 1.0 : 0.0);
}

reference_draft_head::row reference_draft_head::embedded(token_id token, draft_trap wrong) const {
  const auto width = static_cast<std::ptrdiff_t>(config_.hidden_size);
  const auto at = embedding_.begin() + token * width;
  const row e(at, at + width);
  return wrong == draft_trap::normed_embeddings ? normed(e, eps_, nullptr, 0) : e;
}

/// C of every context position.
reference_draft_head::rows reference_draft_head::encode(const draft_case& c,
                                                        draft_trap wrong) const {
  rows out;
  const auto width = config_.feature_width();
  for (std::int64_t t = 0; t < c.context; ++t) {
    const auto at = c.features.begin() + t * width;
    row f(at, at + width);
    if (wrong == draft_trap::permuted_taps) {
      std::rotate(f.begin(), f.begin() + config_.hidden_size, f.end());
    }
    out.push_back(norm(linear(f, weight("encoder.fc")), "encoder.output_norm_enc", wrong));
  }
  return out;
}

/// q or k of rows that begin at `position`: matrix, norm per head, rotation.
reference_draft_head::rows reference_draft_head::heads(const rows& x, const std::string& name,
                                                       std::int64_t position,
                                                       draft_trap wrong) const {
  const auto how =
      wrong == draft_trap::interleaved_rotation ? rotation::interleaved : rotation::half_split;
  const auto dim = static_cast<std::size_t>(config_.head_dim);
  rows out;
  for (const auto& r : x) {
    auto y = linear(r, weight(name + "_proj"));
    for (std::size_t at = 0; at < y.size(); at += dim) {
      const auto begin = y.begin() + static_cast<std::ptrdiff_t>(at);
      const auto head = norm(row(begin, begin + config_.head_dim), name + "_norm", wrong);
      std::ranges::copy(head, begin);
      rotate({&y[at], dim}, position, config_.rope_theta, how);
    }
    out.push_back(std::move(y));
    ++position;
  }
  return out;
}

bool reference_draft_head::sees(const query_and_key& of, const place& at) const {
  auto [query, key] = of;
  if (at.wrong == draft_trap::no_context && key < at.begin) return false;
  if (at.wrong == draft_trap::causal_block && key > query) return false;
  if (at.wrong == draft_trap::window_dropped) return true;
  if (at.wrong == draft_trap::window_from_zero) query -= at.begin;
  const auto window = config_.window - (at.wrong == draft_trap::window_one_short ? 1 : 0);
  return std::abs(query - key) <= window;
}

/// Keys stand at positions 0, 1, ...; queries at the last of them.
reference_draft_head::rows reference_draft_head::attend(const rows& q, const rows& k, const rows& v,
                                                        const place& at) const {
  const auto dim = config_.head_dim;
  rows out;
  for (std::size_t r = 0; r < q.size(); ++r) {
    row o(static_cast<std::size_t>(config_.query_width()));
    for (std::int64_t head = 0; head < config_.query_heads; ++head) {
      const auto kv = head / (config_.query_heads / config_.kv_heads);
      row share;
      for (std::size_t j = 0; j < k.size(); ++j) {
        double s = 0;
        for (std::int64_t d = 0; d < dim; ++d) s += q[r][head * dim + d] * k[j][kv * dim + d];
        const auto query = static_cast<std::int64_t>(k.size() - q.size() + r);
        const bool seen = sees({query, static_cast<std::int64_t>(j)}, at);
        share.push_back(seen ? std::exp(s / std::sqrt(static_cast<double>(dim)) - 20) : 0);
      }
      double sum = 0;
      for (const double p : share) sum += p;
      for (std::size_t j = 0; j < k.size() && sum > 0; ++j) {
        for (std::int64_t d = 0; d < dim; ++d) {
          o[head * dim + d] += share[j] / sum * v[j][kv * dim + d];
        }
      }
    }
    out.push_back(std::move(o));
  }
  return out;
}

void reference_draft_head::run_layer(rows& h, const rows& context, const std::string& layer,
                                     const place& at) const {
  const auto attention = layer + "self_attn.";
  rows x;
  for (const auto& r : h) x.push_back(norm(r, layer + "input_layernorm", at.wrong));
  rows seen;
  for (const auto& c : context) {
    seen.push_back(at.wrong == draft_trap::context_normed_by_layer
                       ? norm(c, layer + "input_layernorm", at.wrong)
                       : c);
  }
  const auto q = heads(x, attention + "q", at.begin, at.wrong);
  auto k = heads(seen, attention + "k", 0, at.wrong);
  std::ranges::move(heads(x, attention + "k", at.begin, at.wrong), std::back_inserter(k));
  std::ranges::copy(x, std::back_inserter(seen));
  rows v;
  for (const auto& r : seen) v.push_back(linear(r, weight(attention + "v_proj")));
  const auto o = attend(q, k, v, at);
  for (std::size_t r = 0; r < h.size(); ++r) {
    add(h[r], linear(o[r], weight(attention + "o_proj")));
    const auto y = norm(h[r], layer + "post_attention_layernorm", at.wrong);
    auto gate = linear(y, weight(layer + "mlp.gate_proj"));
    const auto up = linear(y, weight(layer + "mlp.up_proj"));
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= sigmoid(gate[i]) * up[i];
    add(h[r], linear(gate, weight(layer + "mlp.down_proj")));
  }
}

std::vector<float> reference_draft_head::logits(const draft_case& c, draft_trap wrong) const {
  GLIMMER_ASSERT(std::ssize(c.features) == c.context * config_.feature_width(),
                 "every context position has its features");
  const auto mask = config_.mask_token + (wrong == draft_trap::wrong_mask_token ? 1 : 0);
  rows h{embedded(c.anchor, wrong)};
  for (std::int64_t i = 0; i < c.drafts; ++i) h.push_back(embedded(mask, wrong));
  const auto context = encode(c, wrong);
  const place at{c.context - (wrong == draft_trap::block_one_early ? 1 : 0), wrong};
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    run_layer(h, context, "layers." + std::to_string(i) + ".", at);
  }
  std::vector<float> out;
  for (std::size_t r = 1; r < h.size(); ++r) {
    for (const double z : linear(norm(h[r], "norm", wrong), output_)) {
      out.push_back(static_cast<float>(z));
    }
  }
  return out;
}

}  // namespace glimmer
