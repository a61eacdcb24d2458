#include "model/draft_head.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.hpp"
#include "model/scratch.hpp"

namespace glimmer {
namespace {

std::vector<scratch_piece<draft_views>> pieces(const draft_head_config& c,
                                               const draft_limits& limits, std::int64_t vocab) {
  using views = draft_views;
  const auto rows = limits.block_rows;
  const auto context = limits.context_rows;
  const auto type = limits.type;
  return {
      {&views::hidden, {rows, c.hidden_size}, type},
      {&views::normed, {rows, c.hidden_size}, type},
      {&views::sublayer, {rows, c.hidden_size}, type},
      {&views::q, {rows, c.query_width()}, type},
      {&views::k, {rows, c.kv_width()}, type},
      {&views::v, {rows, c.kv_width()}, type},
      {&views::mlp_gate, {rows, c.intermediate_size}, type},
      {&views::mlp_up, {rows, c.intermediate_size}, type},
      {&views::features, {context, c.feature_width()}, type},
      {&views::context, {context, c.hidden_size}, type},
      {&views::context_k, {context, c.kv_width()}, type},
      {&views::context_v, {context, c.kv_width()}, type},
      {&views::draft_rows, {rows, c.hidden_size}, type},
      {&views::logits, {limits.logit_rows, vocab}, dtype::f32},
  };
}

}  // namespace

std::size_t draft_head::scratch_bytes(const draft_head_config& config, const draft_limits& limits,
                                      std::int64_t vocab) {
  return glimmer::scratch_bytes(pieces(config, limits, vocab));
}

result<draft_head> draft_head::make(device& home, draft_head_config config,
                                    draft_head_weights weights, const draft_limits& limits,
                                    std::int64_t vocab) {
  auto memory = home.allocate(scratch_bytes(config, limits, vocab));
  if (!memory) return fail(memory.error());
  draft_head head;
  head.home_ = &home;
  head.scratch_ = place_scratch(*memory, pieces(config, limits, vocab));
  head.config_ = std::move(config);
  head.limits_ = limits;
  head.weights_ = std::move(weights);
  head.memory_ = std::move(*memory);
  return head;
}

void draft_head::finish(stream_handle s, tensor heads, tensor positions, tensor weight) {
  home_->operations().finish_heads(s, heads, positions,
                                   {.head_dim = config_.head_dim,
                                    .eps = config_.norm_eps,
                                    .rotate = true,
                                    .rope_theta = config_.rope_theta,
                                    .weight = weight});
}

void draft_head::extend_context(stream_handle s, const context_rows& rows,
                                const kv_caches& caches) {
  auto& op = home_->operations();
  const auto count = rows.rows.shape[0];
  for (std::int64_t begin = 0; begin < count; begin += limits_.context_rows) {
    const row_range part{begin, std::min(limits_.context_rows, count - begin)};
    const auto take = [&](tensor whole) { return whole.rows({0, part.count}); };
    const auto features = take(scratch_.features);
    const auto c = take(scratch_.context);
    const auto k = take(scratch_.context_k);
    const auto v = take(scratch_.context_v);
    op.gather_rows(s, features, rows.features, rows.rows.rows(part));
    op.matmul(s, c, features, weights_.fc);
    op.rms_norm(s, c, c, weights_.encoder_norm, norm_kind::plain, config_.norm_eps);
    for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
      const auto& w = weights_.layers[i];
      op.matmul(s, k, c, w.k_proj);
      op.matmul(s, v, c, w.v_proj);
      finish(s, k, rows.positions.rows(part), w.k_norm);
      op.store_kv(s, caches.draft_layer(i), k, v, rows.slots.rows(part));
    }
  }
}

tensor draft_head::run_blocks(stream_handle s, const draft_blocks& blocks, const kv_caches& caches,
                              const borrowed_weights& target) {
  views_ = cut(blocks.tokens.shape[0]);
  auto& op = home_->operations();
  op.gather_rows(s, views_.hidden, target.embedding, blocks.tokens);
  for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
    run_layer(s, i, blocks, caches.draft_layer(i));
  }
  const auto out = scratch_.draft_rows.rows({0, blocks.wanted.shape[0]});
  op.gather_rows(s, out, views_.hidden, blocks.wanted);
  op.rms_norm(s, out, out, weights_.final_norm, norm_kind::plain, config_.norm_eps);
  return out;
}

tensor draft_head::logits(stream_handle s, tensor rows, const borrowed_weights& target) {
  GLIMMER_ASSERT(rows.shape[0] <= limits_.logit_rows, "so many logits were provided for");
  const auto z = scratch_.logits.rows({0, rows.shape[0]});
  home_->operations().matmul(s, z, rows, target.head);
  return z;
}

void draft_head::run_layer(stream_handle s, std::size_t layer, const draft_blocks& blocks,
                           const kv_cache& cache) {
  auto& op = home_->operations();
  const auto& w = weights_.layers[layer];
  const auto& v = views_;
  op.rms_norm(s, v.normed, v.hidden, w.input_norm, norm_kind::plain, config_.norm_eps);
  attend(s, layer, blocks, cache);
  op.matmul(s, v.sublayer, v.q, w.o_proj);
  op.add(s, v.hidden, v.sublayer);

  op.rms_norm(s, v.normed, v.hidden, w.post_attention_norm, norm_kind::plain, config_.norm_eps);
  op.matmul(s, v.mlp_gate, v.normed, w.mlp_gate);
  op.matmul(s, v.mlp_up, v.normed, w.mlp_up);
  op.silu_product(s, v.mlp_gate, v.mlp_up);
  op.matmul(s, v.sublayer, v.mlp_gate, w.mlp_down);
  op.add(s, v.hidden, v.sublayer);
}

/// views_.q becomes the attention's output over views_.normed.
void draft_head::attend(stream_handle s, std::size_t layer, const draft_blocks& blocks,
                        const kv_cache& cache) {
  auto& op = home_->operations();
  const auto& w = weights_.layers[layer];
  const auto& v = views_;
  op.matmul(s, v.q, v.normed, w.q_proj);
  op.matmul(s, v.k, v.normed, w.k_proj);
  op.matmul(s, v.v, v.normed, w.v_proj);
  finish(s, v.q, blocks.positions, w.q_norm);
  finish(s, v.k, blocks.positions, w.k_norm);
  op.block_attention(
      s, v.q, v.q, {.context = cache, .valid_from = blocks.valid_from, .keys = v.k, .values = v.v},
      blocks.layout,
      {.query_heads = config_.query_heads,
       .kv_heads = config_.kv_heads,
       .head_dim = config_.head_dim,
       .block_size = cache.keys.shape[2],
       .window = config_.keys_seen(),
       .scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim))});
}

draft_views draft_head::cut(std::int64_t block_rows) const {
  GLIMMER_ASSERT(block_rows <= limits_.block_rows, "so many rows were provided for");
  draft_views part = scratch_;
  for (auto* view : {&part.hidden, &part.normed, &part.sublayer, &part.q, &part.k, &part.v,
                     &part.mlp_gate, &part.mlp_up}) {
    *view = view->rows({0, block_rows});
  }
  return part;
}

}  // namespace glimmer
