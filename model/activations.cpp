#include "model/activations.hpp"

#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "model/scratch.hpp"

namespace glimmer {
namespace {

using scratch_pieces = std::vector<scratch_piece<activation_views>>;

/// Every scratch tensor at its largest.
scratch_pieces pieces(const text_config& c, const activation_limits& limits) {
  using views = activation_views;
  const auto rows = limits.rows;
  const auto wanted = limits.wanted_rows;
  const auto type = limits.type;
  return {
      {&views::hidden, {rows, c.hidden_size}, type},
      {&views::normed, {rows, c.hidden_size}, type},
      {&views::sublayer, {rows, c.hidden_size}, type},
      {&views::q, {rows, c.query_width()}, type},
      {&views::k, {rows, c.kv_width()}, type},
      {&views::v, {rows, c.kv_width()}, type},
      {&views::gate, {rows, c.query_width()}, type},
      {&views::mlp_gate, {rows, c.intermediate_size}, type},
      {&views::mlp_up, {rows, c.intermediate_size}, type},
      {&views::head_rows, {wanted, c.hidden_size}, type},
      {&views::logits, {wanted, c.vocab_size}, dtype::f32},
  };
}

}  // namespace

std::size_t activations::bytes(const text_config& config, const activation_limits& limits) {
  return scratch_bytes(pieces(config, limits));
}

result<activations> activations::allocate(device& home, const text_config& config,
                                          const activation_limits& limits) {
  auto buffer = home.allocate(bytes(config, limits));
  if (!buffer) return fail(buffer.error());
  activations out;
  out.limits_ = limits;
  out.buffer_ = std::move(*buffer);
  out.whole_ = place_scratch(out.buffer_, pieces(config, limits));
  return out;
}

activation_views activations::take(step_rows rows) const {
  GLIMMER_ASSERT(rows.all <= limits_.rows, "a step has no more rows than scratch was sized for");
  GLIMMER_ASSERT(rows.wanted <= limits_.wanted_rows, "so many logits were provided for");
  activation_views part = whole_;
  for (auto* view : {&part.hidden, &part.normed, &part.sublayer, &part.q, &part.k, &part.v,
                     &part.gate, &part.mlp_gate, &part.mlp_up}) {
    *view = view->rows({0, rows.all});
  }
  for (auto* view : {&part.head_rows, &part.logits}) *view = view->rows({0, rows.wanted});
  return part;
}

}  // namespace glimmer
