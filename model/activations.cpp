#include "model/activations.hpp"

#include <utility>
#include <vector>

#include "base/assert.hpp"

namespace glimmer {
namespace {

constexpr std::size_t alignment = 64;

struct scratch_piece {
  tensor activation_views::*view;
  tensor_shape shape;
  dtype type;

  std::size_t bytes() const {
    const auto exact = static_cast<std::size_t>(shape.count()) * size_of(type);
    return (exact + alignment - 1) / alignment * alignment;
  }
};

/// Every scratch tensor at its largest.
std::vector<scratch_piece> pieces(const text_config& c, const activation_limits& limits) {
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
  std::size_t total = 0;
  for (const auto& piece : pieces(config, limits)) total += piece.bytes();
  return total;
}

result<activations> activations::allocate(device& home, const text_config& config,
                                          const activation_limits& limits) {
  auto buffer = home.allocate(bytes(config, limits));
  if (!buffer) return fail(buffer.error());
  activations out;
  out.limits_ = limits;
  out.buffer_ = std::move(*buffer);
  std::size_t offset = 0;
  for (const auto& piece : pieces(config, limits)) {
    out.whole_.*piece.view = out.buffer_.view(piece.type, piece.shape, offset);
    offset += piece.bytes();
  }
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
