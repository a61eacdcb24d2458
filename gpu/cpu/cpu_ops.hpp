#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "gpu/cpu/cpu_arena.hpp"
#include "gpu/cpu/cpu_stream.hpp"
#include "gpu/cpu/kernels.hpp"
#include "gpu/ops.hpp"

namespace glimmer {

/// Cosines and sines of one step's positions. Every layer asks for the same ones, so the last
/// answer is kept.
class rope_table {
 public:
  /// For positions [tokens]: [tokens, head_dim / 2] each.
  void prepare(cpu_arena& arena, const tensor& positions, const head_rules& rules);
  const float* cosines(std::size_t token) const { return cosines_.data() + token * half_; }
  const float* sines(std::size_t token) const { return sines_.data() + token * half_; }

 private:
  std::vector<std::int32_t> positions_;
  std::vector<float> cosines_;
  std::vector<float> sines_;
  std::size_t half_ = 0;
  float theta_ = 0;
};

/// Some rows of one sequence and some query heads that share a kv head: what one task of attention
/// computes.
struct attention_task {
  std::int64_t sequence = 0;
  row_range rows;   ///< of the batch
  row_range heads;  ///< query heads
  std::int64_t kv_head = 0;

  std::int64_t queries() const { return rows.count * heads.count; }
};

/// Rows of a product as its kernel takes them, wherever they lie.
struct product_rows {
  const std::byte* data = nullptr;
  std::int64_t stride = 0;  ///< bytes
  dtype type = dtype::f32;  ///< of rows that are not quantised
};

/// One stream and the memory that its ops reuse; touched by its thread alone.
struct stream_state {
  rope_table rope;
  std::vector<std::byte> rows;  ///< of a product, as its kernel takes them
  std::vector<attention_task> tasks;
};

struct cpu_lane {
  stream_state state;
  cpu_stream stream;

  explicit cpu_lane(const cpu_arena& arena) : stream([&arena] { arena.pin(0); }) {}
};

/// All streams of a device, by handle. Fixed places, so that a new stream disturbs no reader.
using cpu_lanes = std::array<std::unique_ptr<cpu_lane>, 8>;

/// The ops on the host: cut into independent parts here, computed by the kernels.
class cpu_ops final : public ops {
 public:
  /// All three outlive this.
  cpu_ops(cpu_arena& arena, const cpu_lanes& lanes, const cpu_kernels& kernels)
      : arena_(arena), lanes_(lanes), kernels_(kernels) {}

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
  /// Queues work(state) on the stream.
  template <class Work>
  void queue(stream_handle s, Work work) {
    cpu_lane& lane = *lanes_[s.index];
    lane.stream.queue([&state = lane.state, work] { work(state); });
  }

  /// Runs body(row) for each row of `t`.
  template <class Body>
  void for_rows(const tensor& t, const Body& body);
  /// Runs body(range) over all elements of `t` as one flat run.
  template <class Body>
  void for_elements(const tensor& t, const Body& body);

  void multiply(stream_state& state, const tensor& out, const tensor& x, const packed_matrix& w);
  /// x as it is, or a copy in the state's memory.
  product_rows prepared(stream_state& state, const tensor& x, const packed_matrix& w);

  cpu_arena& arena_;
  const cpu_lanes& lanes_;
  const cpu_kernels& kernels_;
};

/// Elements below which a hand-over to other threads costs more than it brings.
inline constexpr std::int64_t elements_per_task = 16'384;

template <class Body>
void cpu_ops::for_rows(const tensor& t, const Body& body) {
  const std::int64_t rows = t.shape[0];
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, elements_per_task / t.shape[1]);
  const std::int64_t tasks = (rows + rows_per_task - 1) / rows_per_task;
  arena_.for_each(static_cast<std::size_t>(tasks), [&](std::size_t task) {
    const auto begin = static_cast<std::int64_t>(task) * rows_per_task;
    for (auto row = begin; row < std::min(rows, begin + rows_per_task); ++row) body(row);
  });
}

template <class Body>
void cpu_ops::for_elements(const tensor& t, const Body& body) {
  const std::int64_t count = t.count();
  const std::int64_t tasks = (count + elements_per_task - 1) / elements_per_task;
  arena_.for_each(static_cast<std::size_t>(tasks), [&](std::size_t task) {
    const auto begin = static_cast<std::int64_t>(task) * elements_per_task;
    body(row_range{.begin = begin, .count = std::min(elements_per_task, count - begin)});
  });
}

}  // namespace glimmer
