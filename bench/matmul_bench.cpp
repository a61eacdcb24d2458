// bf16 rows times weights of each format, the shapes of the 30B's layers: how near decode comes to
// the memory's bandwidth, and prefill to the processor's arithmetic.
#include <fmt/format.h>

#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/figure.hpp"
#include "gpu/cpu/cpu_device.hpp"
#include "gpu/ops.hpp"

namespace glimmer {
namespace {

struct matmul_figure {
  matrix_extent extent;
  std::int64_t rows;
  dtype weights = dtype::bf16;
};

/// Buffers that hold random bf16 values (any bits but those of huge numbers).
device_buffer random_bf16(device& d, stream_handle s, tensor_shape shape) {
  auto buffer = d.allocate(static_cast<std::size_t>(shape.count()) * 2);
  if (!buffer) throw std::runtime_error(buffer.error().text);
  std::minstd_rand random(7);
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(shape.count()));
  for (auto& b : bits) b = static_cast<std::uint16_t>(0x3c00u | (random() & 0x81ffu));
  d.upload(s, buffer->view(dtype::bf16, shape), std::as_bytes(std::span(bits)));
  d.wait(d.record(s));
  return std::move(*buffer);
}

/// Packs random weights: the bits of `random_bf16` serve as codes and scales of every format.
void pack_random(device& d, stream_handle s, const packed_matrix& w) {
  const std::int64_t width = w.source == dtype::f4_pair ? w.in / 2 : w.in;
  const device_buffer rows = random_bf16(d, s, {w.out, width});
  d.operations().pack(s, w, 0, rows.view(w.source, {w.out, width}));
  const tensor_shape eighths{(w.out + f8_block - 1) / f8_block, (w.in + f8_block - 1) / f8_block};
  const tensor_shape quarters{w.out, w.in / f4_block};
  if (w.source == dtype::f8_e4m3) {
    const device_buffer scales = random_bf16(d, s, {eighths[0], 2 * eighths[1]});
    d.operations().pack_scales(s, w, 0, scales.view(dtype::f32, eighths));
    d.wait(d.record(s));
  }
  if (w.source == dtype::f4_pair) {
    d.operations().pack_scales(s, w, 0, rows.view(dtype::f8_e4m3, quarters));
  }
  d.wait(d.record(s));
}

double seconds_of(instruction_set set, const matmul_figure& f) {
  const auto d = make_cpu_device({.threads = 0, .cpus = {}, .instructions = set});
  const stream_handle s = d->make_stream();
  auto packed = d->allocate(d->operations().packed_bytes(f.extent, f.weights));
  if (!packed) throw std::runtime_error(packed.error().text);
  const packed_matrix w{
      .storage = packed->view(dtype::u8, {static_cast<std::int64_t>(packed->bytes())}),
      .out = f.extent.out,
      .in = f.extent.in,
      .source = f.weights};
  pack_random(*d, s, w);
  const device_buffer x = random_bf16(*d, s, {f.rows, f.extent.in});
  const device_buffer out = random_bf16(*d, s, {f.rows, f.extent.out});
  return best_seconds(*d, s, [&] {
    d->operations().matmul(s, out.view(dtype::bf16, {f.rows, f.extent.out}),
                           x.view(dtype::bf16, {f.rows, f.extent.in}), w);
  });
}

void report(const matmul_figure& f) {
  const double products =
      static_cast<double>(f.rows) * static_cast<double>(f.extent.out * f.extent.in);
  const double bits =
      f.weights == dtype::f4_pair ? 4.5 : 8.0 * static_cast<double>(size_of(f.weights));
  const std::string name = fmt::format("matmul_{}", to_string(f.weights));
  double plain = 0;
  for (const instruction_set set : available_instruction_sets()) {
    // The plain version is timed on a slice, or one would wait for minutes.
    const std::int64_t slice = set == instruction_set::plain ? 64 * f.rows : 1;
    matmul_figure timed = f;
    timed.extent.out = std::max<std::int64_t>(1, f.extent.out / slice);
    const double seconds = seconds_of(set, timed) * static_cast<double>(f.extent.out) /
                           static_cast<double>(timed.extent.out);
    if (set == instruction_set::plain) plain = seconds;
    figure_line(
        {.bench = name, .subject = fmt::format("{}x{} rows {}", f.extent.out, f.extent.in, f.rows)})
        .version(to_string(set))
        .add("ms", seconds * 1e3)
        .add("gflops", 2 * products / seconds * 1e-9)
        .add("weight_gb_per_s",
             static_cast<double>(f.extent.out * f.extent.in) * bits / 8 / seconds * 1e-9)
        .add("times_plain", plain / seconds)
        .print();
  }
}

}  // namespace
}  // namespace glimmer

int main() {
  const glimmer::matrix_extent up{.out = 19'968, .in = 6656};
  for (const std::int64_t rows : {1, 2, 4, 8, 16, 64, 256}) glimmer::report({up, rows});
  for (const auto format : {glimmer::dtype::f8_e4m3, glimmer::dtype::f4_pair}) {
    for (const std::int64_t rows : {1, 8, 64}) glimmer::report({up, rows, format});
  }
}
