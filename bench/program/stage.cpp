#include "bench/program/stage.hpp"

#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>

namespace glimmer {

bench_stage::bench_stage(std::unique_ptr<device> home)
    : home_{std::move(home)}, stream_{home_->make_stream()} {}

tensor bench_stage::make(tensor_shape shape, dtype type) {
  auto buffer = home_->allocate(static_cast<std::size_t>(shape.count()) * size_of(type));
  if (!buffer) throw std::runtime_error(buffer.error().text);
  buffers_.push_back(std::move(*buffer));
  return buffers_.back().view(type, shape);
}

tensor bench_stage::make_random(tensor_shape shape, dtype type) {
  const tensor t = make(shape, type);
  // 16 bits that are a bf16 of at most 2; likewise harmless as halves of other types.
  std::minstd_rand random(7);
  std::vector<std::uint16_t> bits((t.bytes() + 1) / 2);
  for (auto& b : bits) b = static_cast<std::uint16_t>(0x3c00u | (random() & 0x81ffu));
  home_->upload(stream_, t, std::as_bytes(std::span(bits)).first(t.bytes()));
  return t;
}

tensor bench_stage::make_ids(const std::vector<std::int32_t>& ids, tensor_shape shape) {
  const tensor t = make(shape, dtype::i32);
  home_->upload(stream_, t, std::as_bytes(std::span(ids)));
  return t;
}

packed_matrix bench_stage::make_matrix(matrix_extent extent, dtype type) {
  const auto bytes = static_cast<std::int64_t>(op().packed_bytes(extent, type));
  const packed_matrix w{
      .storage = make({bytes}, dtype::u8), .out = extent.out, .in = extent.in, .source = type};
  const bool at_load = type == dtype::i8 || type == dtype::i4_pair;
  const auto width = type == dtype::f4_pair ? extent.in / 2 : extent.in;
  const auto rows = make_random({extent.out, width}, at_load ? dtype::bf16 : type);
  op().pack(stream_, w, 0, rows);
  if (type == dtype::f8_e4m3) {
    const auto blocks = [](std::int64_t n) { return (n + f8_block - 1) / f8_block; };
    op().pack_scales(stream_, w, 0,
                     make_random({blocks(extent.out), blocks(extent.in)}, dtype::f32));
  }
  if (type == dtype::f4_pair) {
    // Positive and far from the smallest, as those of checkpoints are.
    const tensor scales = make({extent.out, extent.in / f4_block}, dtype::f8_e4m3);
    std::vector<std::uint8_t> codes(scales.bytes());
    std::minstd_rand random(8);
    for (auto& code : codes) code = static_cast<std::uint8_t>(0x70u | (random() & 7u));
    home_->upload(stream_, scales, std::as_bytes(std::span(codes)));
    op().pack_scales(stream_, w, 0, scales);
  }
  home_->wait(home_->record(stream_));
  return w;
}

void bench_stage::clear() {
  home_->wait(home_->record(stream_));
  buffers_.clear();
}

}  // namespace glimmer
