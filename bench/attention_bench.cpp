// Attention of the 30B's shape (32 query heads, 2 kv heads of 128) over a bf16 cache: one decoding
// row and a prefill chunk, at several lengths.
#include <fmt/format.h>
#include <numeric>

#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "bench/figure.hpp"
#include "gpu/cpu/cpu_device.hpp"
#include "gpu/ops.hpp"

namespace glimmer {
namespace {

constexpr attention_shape shape{.query_heads = 32,
                                .kv_heads = 2,
                                .head_dim = 128,
                                .block_size = 16,
                                .window = 0,
                                .scale = 0.0883883f};

struct attention_figure {
  std::int64_t rows;
  std::int64_t length;  ///< positions, those of the rows included
};

/// Tensors that live as long as the device.
class stage {
 public:
  explicit stage(instruction_set set)
      : device_(make_cpu_device({.threads = 0, .cpus = {}, .instructions = set})),
        stream_(device_->make_stream()) {}

  tensor put_random(tensor_shape form) {
    std::minstd_rand random(7);
    std::vector<std::uint16_t> bits(static_cast<std::size_t>(form.count()));
    for (auto& b : bits) b = static_cast<std::uint16_t>(0x3c00u | (random() & 0x81ffu));
    return put(form, dtype::bf16, std::as_bytes(std::span(bits)));
  }
  tensor put_ids(const std::vector<std::int32_t>& ids, tensor_shape form) {
    return put(form, dtype::i32, std::as_bytes(std::span(ids)));
  }
  double seconds(const attention_figure& f) {
    const std::int64_t blocks = (f.length + shape.block_size - 1) / shape.block_size;
    const tensor_shape form{blocks, shape.block_size, shape.kv_heads, shape.head_dim};
    const kv_cache cache{.keys = put_random(form), .values = put_random(form)};
    std::vector<std::int32_t> table(static_cast<std::size_t>(blocks));
    std::iota(table.rbegin(), table.rend(), 0);
    const attention_layout layout{
        .row_begin = put_ids({0, static_cast<std::int32_t>(f.rows)}, {2}),
        .first_position = put_ids({static_cast<std::int32_t>(f.length - f.rows)}, {1}),
        .block_table = put_ids(table, {1, blocks}),
        .first_block = put_ids({0}, {1}),
        .rows_max = f.rows,
        .position_max = f.length - 1};
    const tensor_shape rows{f.rows, shape.query_heads * shape.head_dim};
    const tensor q = put_random(rows);
    const tensor out = put_random(rows);
    return best_seconds(*device_, stream_, [&] {
      device_->operations().attention(stream_, out, q, cache, layout, shape);
    });
  }

 private:
  tensor put(tensor_shape form, dtype type, std::span<const std::byte> bytes) {
    auto buffer = device_->allocate(bytes.size());
    if (!buffer) throw std::runtime_error(buffer.error().text);
    buffers_.push_back(std::move(*buffer));
    const tensor t = buffers_.back().view(type, form);
    device_->upload(stream_, t, bytes);
    return t;
  }

  std::unique_ptr<cpu_device> device_;
  stream_handle stream_;
  std::vector<device_buffer> buffers_;
};

void report(const attention_figure& f) {
  // Keys that each row sees, over all rows; 4 operations a component for q.k and for p.v.
  const double keys = static_cast<double>(f.rows) * (2.0 * f.length - f.rows + 1) / 2;
  const double operations = keys * shape.query_heads * shape.head_dim * 4;
  const double cache_bytes = static_cast<double>(f.length) * shape.kv_heads * shape.head_dim * 4;
  double plain = 0;
  for (const instruction_set set : available_instruction_sets()) {
    const double seconds = stage(set).seconds(f);
    if (set == instruction_set::plain) plain = seconds;
    figure_line(
        {.bench = "attention_bf16", .subject = fmt::format("rows {} length {}", f.rows, f.length)})
        .version(to_string(set))
        .add("ms", seconds * 1e3)
        .add("gflops", operations / seconds * 1e-9)
        .add("cache_gb_per_s", cache_bytes / seconds * 1e-9)
        .add("times_plain", plain / seconds)
        .print();
  }
}

}  // namespace
}  // namespace glimmer

int main() {
  for (const std::int64_t length : {256, 2048, 8192}) glimmer::report({1, length});
  glimmer::report({64, 512});
}
