#include "model/forward.hpp"

#include <utility>

#include "base/assert.hpp"
#include "model/layer.hpp"

namespace glimmer {

result<decoder> decoder::make(device& home, text_config config, decoder_weights weights,
                              const activation_limits& limits) {
  auto scratch = activations::allocate(home, config, limits);
  if (!scratch) return fail(scratch.error());
  decoder d;
  d.home_ = &home;
  d.config_ = std::move(config);
  d.weights_ = std::move(weights);
  d.scratch_ = std::move(*scratch);
  return d;
}

tensor decoder::forward(stream_handle s, const forward_batch& batch, const kv_caches& caches,
                        const layer_observer& observer) {
  GLIMMER_ASSERT(batch.tokens.shape.rank == 1 && batch.wanted.shape.rank == 1,
                 "tokens and wanted rows are lists");
  const auto views = scratch_.take({batch.tokens.shape[0], batch.wanted.shape[0]});
  const op_queue queue{&home_->operations(), s};
  embed(s, batch.tokens, views);
  if (observer) observer(-1, views.hidden);
  for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
    const auto group = static_cast<std::size_t>(config_.layer_groups[i]);
    const layer_inputs inputs{.positions = batch.positions,
                              .slots = batch.slots[group],
                              .layout = &batch.layout[group],
                              .cache = &caches.layer(i),
                              .block_size = caches.layout().block_size};
    run_layer(queue, config_, i, weights_.layers[i], inputs, views);
    if (observer) observer(static_cast<std::int64_t>(i), views.hidden);
  }
  return head(s, batch.wanted, views);
}

void decoder::embed(stream_handle s, tensor tokens, const activation_views& views) {
  auto& op = home_->operations();
  op.gather_rows(s, views.hidden, weights_.embedding, tokens);
  op.rms_norm(s, views.hidden, views.hidden, {}, norm_kind::weightless, config_.norm_eps);
}

tensor decoder::head(stream_handle s, tensor wanted, const activation_views& views) {
  if (wanted.shape[0] == 0) return views.logits;
  auto& op = home_->operations();
  const auto y = views.head_rows;
  op.gather_rows(s, y, views.hidden, wanted);
  op.rms_norm(s, y, y, weights_.final_norm, norm_kind::plain, config_.norm_eps);
  op.matmul(s, views.logits, y, weights_.head);
  op.cap_logits(s, views.logits, {config_.output_multiplier, config_.logit_cap});
  return views.logits;
}

}  // namespace glimmer
