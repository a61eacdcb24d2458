#pragma once

#include "gpu/ops.hpp"

namespace glimmer {

/// Asserts shapes, types and aliasing of every op, then hands it to the back end. One place for
/// the catalogue's rules, so that no back end repeats them. What lies in device memory (ids, slots,
/// block tables) is not seen here.
class checked_ops final : public ops {
 public:
  /// `inner` outlives this.
  explicit checked_ops(ops& inner) : inner_(inner) {}

  std::size_t packed_bytes(matrix_extent extent, dtype source) const override;
  void pack(stream_handle s, const packed_matrix& to, std::int64_t row, tensor rows) override;
  void pack_scales(stream_handle s, const packed_matrix& to, std::int64_t row,
                   tensor scales) override;
  void gather_rows(stream_handle s, tensor out, tensor table, tensor ids) override;
  void store_columns(stream_handle s, tensor out, std::int64_t column, tensor x) override;
  void rms_norm(stream_handle s, tensor out, tensor x, tensor weight, norm_kind kind,
                float eps) override;
  void add(stream_handle s, tensor h, tensor u) override;
  void matmul(stream_handle s, tensor out, tensor x, const packed_matrix& w) override;
  void finish_heads(stream_handle s, tensor x, tensor positions, const head_rules& rules) override;
  void store_kv(stream_handle s, const kv_cache& cache, tensor k, tensor v, tensor slots) override;
  void attention(stream_handle s, tensor out, tensor q, const kv_cache& cache,
                 const attention_layout& layout, const attention_shape& shape) override;
  void block_attention(stream_handle s, tensor out, tensor q, const block_keys& block,
                       const attention_layout& layout, const attention_shape& shape) override;
  void sigmoid_gate(stream_handle s, tensor o, tensor g) override;
  void silu_product(stream_handle s, tensor gate, tensor up) override;
  void cap_logits(stream_handle s, tensor z, logit_cap rule) override;
  void copy_block(stream_handle s, const kv_cache& cache, block_copy blocks) override;

 private:
  ops& inner_;
};

}  // namespace glimmer
