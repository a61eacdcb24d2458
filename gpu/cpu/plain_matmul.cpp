#include <cmath>
#include <cstring>

#include "gpu/cpu/bf16.hpp"
#include "gpu/cpu/packing.hpp"
#include "gpu/cpu/plain.hpp"

namespace glimmer {

namespace {

/// One weight of a panel, as f32.
template <class W>
float weight_at(const matmul_tile& tile, const std::byte* panel, panel_place at) {
  const panel_layout layout({.out = panel_width, .in = tile.k_end}, tile.weight_type);
  return widen(reinterpret_cast<const W*>(panel)[layout.index(at)]);
}

template <>
float weight_at<f8>(const matmul_tile& tile, const std::byte* panel, panel_place at) {
  const panel_layout layout({.out = panel_width, .in = tile.k_end}, tile.weight_type);
  float scale = 0;
  std::memcpy(&scale, panel + tile.scales.offset + at.k / f8_block * 4, sizeof scale);
  return widen(reinterpret_cast<const f8*>(panel)[layout.index(at)]) * scale;
}

template <>
float weight_at<f4_pair>(const matmul_tile& tile, const std::byte* panel, panel_place at) {
  const auto codes = std::to_integer<std::uint32_t>(panel[f4_codes_at(at)]);
  const f8 stored{std::to_integer<std::uint8_t>(panel[f4_scale_at(at)])};
  const float scale = widen(stored) * tile.scales.rule.multiplier / tile.scales.rule.divisor;
  return widen_f4(at.k % 2 == 0 ? codes & 0xfu : codes >> 4) * scale;
}

float scale_at(const std::byte* stored) {
  bf16 scale{};
  std::memcpy(&scale, stored, sizeof scale);
  return widen(scale);
}

template <>
float weight_at<i8>(const matmul_tile&, const std::byte* panel, panel_place at) {
  const auto code = std::to_integer<std::int8_t>(panel[i8_code_at(at)]);
  return static_cast<float>(code) * scale_at(panel + i8_scale_at(at));
}

template <>
float weight_at<i4_pair>(const matmul_tile&, const std::byte* panel, panel_place at) {
  const auto codes = std::to_integer<std::int32_t>(panel[i4_codes_at(at)]);
  const auto code = (at.k % 2 == 0 ? codes & 15 : codes >> 4) - 8;
  return static_cast<float>(code) * scale_at(panel + i4_scale_at(at));
}

}  // namespace

void plain_matmul(const matmul_tile& tile) {
  with_packed(tile.weight_type, [&](auto tag) {
    using W = decltype(tag);
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      for (std::int64_t out = 0; out < tile.panels * panel_width; ++out) {
        const std::byte* const panel = tile.weights + (out / panel_width) * tile.panel_bytes;
        const float* const x = tile.x + row * tile.x_stride;
        float& sum = tile.sums[row * tile.sums_stride + out];
        for (std::int64_t k = tile.k_begin; k < tile.k_end; ++k)
          sum = std::fma(x[k], weight_at<W>(tile, panel, {.lane = out % panel_width, .k = k}), sum);
      }
    }
  });
}

}  // namespace glimmer
