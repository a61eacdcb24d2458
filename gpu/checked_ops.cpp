#include "gpu/checked_ops.hpp"

namespace glimmer {

namespace {

bool is_activation(dtype t) {
  return t == dtype::f32 || t == dtype::bf16;
}

bool is_weight(dtype t) {
  return is_activation(t) || t == dtype::f16;
}

/// Quantised before it comes here, by whoever made the checkpoint.
bool is_quantised(dtype t) {
  return t == dtype::f8_e4m3 || t == dtype::f4_pair;
}

/// Quantised by `pack`.
bool is_grouped(dtype t) {
  return t == dtype::i8 || t == dtype::i4_pair;
}

/// Blocks of some size that cover a whole.
struct blocks {
  std::int64_t size;
  std::int64_t over(std::int64_t whole) const { return (whole + size - 1) / size; }
};

void check_storage(const packed_matrix& w, std::size_t bytes) {
  GLIMMER_ASSERT(w.storage.bytes() >= bytes, "the storage holds the packed matrix");
}

bool disjoint(const tensor& a, const tensor& b) {
  return a.data.address + a.bytes() <= b.data.address ||
         b.data.address + b.bytes() <= a.data.address;
}

bool same_form(const tensor& a, const tensor& b) {
  return a.shape == b.shape && a.type == b.type;
}

bool is_vector(const tensor& t, dtype type, std::int64_t count) {
  return t.shape.rank == 1 && t.type == type && t.shape[0] == count;
}

void check_activation(const tensor& t) {
  GLIMMER_ASSERT(t.shape.rank == 2, "activations are [rows, width]");
  GLIMMER_ASSERT(is_activation(t.type), "activations are bf16 or f32");
}

void check_cache(const kv_cache& cache) {
  GLIMMER_ASSERT(cache.keys.shape.rank == 4, "a cache is [blocks, kv_heads, block_size, head_dim]");
  GLIMMER_ASSERT(same_form(cache.keys, cache.values), "keys and values have one form");
  GLIMMER_ASSERT(is_activation(cache.keys.type) || cache.keys.type == dtype::f8_e4m3,
                 "a cache is bf16, f32 or f8_e4m3");
}

void check_layout(const attention_layout& layout) {
  GLIMMER_ASSERT(layout.first_position.shape.rank == 1, "one first position a sequence");
  const auto sequences = layout.first_position.shape[0];
  GLIMMER_ASSERT(is_vector(layout.first_position, dtype::i32, sequences), "positions are i32");
  GLIMMER_ASSERT(is_vector(layout.row_begin, dtype::i32, sequences + 1),
                 "row_begin has an entry more than there are sequences");
  GLIMMER_ASSERT(is_vector(layout.first_block, dtype::i32, sequences), "one first block each");
  GLIMMER_ASSERT(layout.block_table.shape.rank == 2 && layout.block_table.type == dtype::i32 &&
                     layout.block_table.shape[0] == sequences,
                 "one row of the block table a sequence");
}

void check_attention_shape(const attention_shape& shape, const kv_cache& cache) {
  GLIMMER_ASSERT(shape.kv_heads > 0 && shape.query_heads % shape.kv_heads == 0,
                 "each kv head serves as many query heads");
  GLIMMER_ASSERT(shape.window >= 0, "a window is a count of keys, 0 for all");
  GLIMMER_ASSERT(cache.keys.shape[1] == shape.kv_heads && cache.keys.shape[2] == shape.block_size &&
                     cache.keys.shape[3] == shape.head_dim,
                 "shape and cache agree");
}

void check_queries(const tensor& out, const tensor& q, const attention_shape& shape) {
  check_activation(q);
  GLIMMER_ASSERT(same_form(out, q), "attention keeps shape and type");
  GLIMMER_ASSERT(out.data == q.data || disjoint(out, q), "in place or elsewhere");
  GLIMMER_ASSERT(q.shape[1] == shape.query_heads * shape.head_dim, "rows are whole query heads");
}

}  // namespace

std::size_t checked_ops::packed_bytes(matrix_extent extent, dtype source) const {
  GLIMMER_ASSERT(extent.out > 0 && extent.in > 0, "a matrix has rows and columns");
  GLIMMER_ASSERT(is_weight(source) || is_quantised(source) || is_grouped(source),
                 "weights are bf16, f16, f32 or quantised");
  GLIMMER_ASSERT(source != dtype::f4_pair || extent.in % f4_block == 0,
                 "rows of f4_pair are whole blocks");
  return inner_.packed_bytes(extent, source);
}

void checked_ops::pack(stream_handle s, const packed_matrix& to, std::int64_t row, tensor rows) {
  const std::int64_t width = to.source == dtype::f4_pair ? to.in / 2 : to.in;
  GLIMMER_ASSERT(rows.shape.rank == 2 && rows.shape[1] == width, "rows are as wide as the matrix");
  GLIMMER_ASSERT(is_grouped(to.source) ? is_weight(rows.type) : rows.type == to.source,
                 "rows come in the matrix's source type");
  GLIMMER_ASSERT(row >= 0 && row + rows.shape[0] <= to.out, "rows lie inside the matrix");
  check_storage(to, packed_bytes({to.out, to.in}, to.source));
  inner_.pack(s, to, row, rows);
}

void checked_ops::pack_scales(stream_handle s, const packed_matrix& to, std::int64_t row,
                              tensor scales) {
  GLIMMER_ASSERT(is_quantised(to.source), "only matrices quantised before have scales to pack");
  const bool eight = to.source == dtype::f8_e4m3;
  const std::int64_t height = eight ? f8_block : 1;
  GLIMMER_ASSERT(
      scales.shape.rank == 2 && scales.shape[1] == blocks{eight ? f8_block : f4_block}.over(to.in),
      "one scale a block of columns");
  GLIMMER_ASSERT(scales.type == (eight ? dtype::f32 : dtype::f8_e4m3),
                 "scales of f8 are f32, those of f4 are f8");
  GLIMMER_ASSERT(row >= 0 && row % height == 0 &&
                     row / height + scales.shape[0] <= blocks{height}.over(to.out),
                 "blocks lie inside the matrix");
  check_storage(to, packed_bytes({to.out, to.in}, to.source));
  inner_.pack_scales(s, to, row, scales);
}

void checked_ops::gather_rows(stream_handle s, tensor out, tensor table, tensor ids) {
  check_activation(out);
  GLIMMER_ASSERT(table.shape.rank == 2 && is_weight(table.type), "a table is [vocab, width]");
  GLIMMER_ASSERT(table.shape[1] == out.shape[1], "table and rows have one width");
  GLIMMER_ASSERT(is_vector(ids, dtype::i32, out.shape[0]), "one i32 id a row");
  GLIMMER_ASSERT(disjoint(out, table), "rows are gathered to another place");
  inner_.gather_rows(s, out, table, ids);
}

void checked_ops::store_columns(stream_handle s, tensor out, std::int64_t column, tensor x) {
  check_activation(x);
  GLIMMER_ASSERT(out.shape.rank == 2 && out.type == x.type, "columns keep their type");
  GLIMMER_ASSERT(x.shape[0] <= out.shape[0], "there is a row for each row");
  GLIMMER_ASSERT(column >= 0 && column + x.shape[1] <= out.shape[1], "columns lie inside the rows");
  GLIMMER_ASSERT(disjoint(out, x), "columns are stored in another place");
  inner_.store_columns(s, out, column, x);
}

void checked_ops::rms_norm(stream_handle s, tensor out, tensor x, tensor weight, norm_kind kind,
                           float eps) {
  check_activation(x);
  GLIMMER_ASSERT(same_form(out, x), "a norm keeps shape and type");
  GLIMMER_ASSERT(out.data == x.data || disjoint(out, x), "in place or elsewhere");
  GLIMMER_ASSERT(kind == norm_kind::weightless || is_vector(weight, dtype::f32, x.shape[1]),
                 "norm weights are f32, one a column");
  inner_.rms_norm(s, out, x, weight, kind, eps);
}

void checked_ops::add(stream_handle s, tensor h, tensor u) {
  check_activation(h);
  GLIMMER_ASSERT(same_form(h, u), "both sides of an addition have one form");
  inner_.add(s, h, u);
}

void checked_ops::matmul(stream_handle s, tensor out, tensor x, const packed_matrix& w) {
  check_activation(x);
  check_activation(out);
  GLIMMER_ASSERT(x.shape[1] == w.in, "rows are as wide as the matrix");
  GLIMMER_ASSERT(out.shape[0] == x.shape[0] && out.shape[1] == w.out, "out is [rows, w.out]");
  GLIMMER_ASSERT(x.type == dtype::bf16 || out.type == dtype::f32, "f32 rows give f32 results");
  GLIMMER_ASSERT(disjoint(out, x), "a product goes to another place");
  inner_.matmul(s, out, x, w);
}

void checked_ops::finish_heads(stream_handle s, tensor x, tensor positions,
                               const head_rules& rules) {
  check_activation(x);
  GLIMMER_ASSERT(rules.head_dim > 0 && x.shape[1] % rules.head_dim == 0, "rows are whole heads");
  GLIMMER_ASSERT(!rules.rotate || (rules.head_dim % 2 == 0 && rules.rope_theta > 0),
                 "rotation pairs components and has a base");
  GLIMMER_ASSERT(is_vector(positions, dtype::i32, x.shape[0]), "one i32 position a row");
  GLIMMER_ASSERT(
      rules.weight.shape.rank == 0 || is_vector(rules.weight, dtype::f32, rules.head_dim),
      "the weights of a head's norm are f32, one a component");
  inner_.finish_heads(s, x, positions, rules);
}

void checked_ops::store_kv(stream_handle s, const kv_cache& cache, tensor k, tensor v,
                           tensor slots) {
  check_activation(k);
  check_cache(cache);
  GLIMMER_ASSERT(same_form(k, v), "keys and values have one form");
  GLIMMER_ASSERT(k.shape[1] == cache.keys.shape[1] * cache.keys.shape[3], "rows are whole slots");
  GLIMMER_ASSERT(is_vector(slots, dtype::i32, k.shape[0]), "one i32 slot a row");
  inner_.store_kv(s, cache, k, v, slots);
}

void checked_ops::attention(stream_handle s, tensor out, tensor q, const kv_cache& cache,
                            const attention_layout& layout, const attention_shape& shape) {
  check_cache(cache);
  check_layout(layout);
  check_attention_shape(shape, cache);
  check_queries(out, q, shape);
  inner_.attention(s, out, q, cache, layout, shape);
}

void checked_ops::block_attention(stream_handle s, tensor out, tensor q, const block_keys& block,
                                  const attention_layout& layout, const attention_shape& shape) {
  check_cache(block.context);
  check_layout(layout);
  check_attention_shape(shape, block.context);
  check_queries(out, q, shape);
  GLIMMER_ASSERT(is_vector(block.valid_from, dtype::i32, layout.first_position.shape[0]),
                 "one i32 bound of the context a sequence");
  GLIMMER_ASSERT(same_form(block.keys, block.values), "keys and values have one form");
  GLIMMER_ASSERT(block.keys.type == block.context.keys.type, "block and context have one type");
  GLIMMER_ASSERT(block.keys.shape.rank == 2 && block.keys.shape[0] == q.shape[0] &&
                     block.keys.shape[1] == shape.kv_heads * shape.head_dim,
                 "each row brings its own key");
  GLIMMER_ASSERT(disjoint(out, block.keys) && disjoint(out, block.values),
                 "keys stay while queries become outputs");
  inner_.block_attention(s, out, q, block, layout, shape);
}

void checked_ops::sigmoid_gate(stream_handle s, tensor o, tensor g) {
  check_activation(o);
  GLIMMER_ASSERT(same_form(o, g), "one gate value an element");
  inner_.sigmoid_gate(s, o, g);
}

void checked_ops::silu_product(stream_handle s, tensor gate, tensor up) {
  check_activation(gate);
  GLIMMER_ASSERT(same_form(gate, up), "gate and up have one form");
  inner_.silu_product(s, gate, up);
}

void checked_ops::cap_logits(stream_handle s, tensor z, logit_cap rule) {
  GLIMMER_ASSERT(z.type == dtype::f32, "logits are f32");
  GLIMMER_ASSERT(rule.cap > 0, "a cap is positive");
  inner_.cap_logits(s, z, rule);
}

void checked_ops::copy_block(stream_handle s, const kv_cache& cache, block_copy blocks) {
  check_cache(cache);
  const auto count = cache.keys.shape[0];
  GLIMMER_ASSERT(blocks.from >= 0 && blocks.from < count && blocks.to >= 0 && blocks.to < count,
                 "blocks lie inside the cache");
  inner_.copy_block(s, cache, blocks);
}

}  // namespace glimmer
