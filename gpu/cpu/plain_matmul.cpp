#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>

#include "gpu/cpu/bf16.hpp"
#include "gpu/cpu/packing.hpp"
#include "gpu/cpu/pair_sum.hpp"
#include "gpu/cpu/plain.hpp"

namespace glimmer {

namespace {

/// One weight of a panel, as f32.
template <class W>
float weight_at(const matmul_tile& tile, const std::byte* panel, panel_place at) {
  const panel_layout layout({.out = panel_width, .in = tile.k_end}, tile.weight_type);
  return widen(reinterpret_cast<const W*>(panel)[layout.index(at)]);
}

float stored_scale(const std::byte* stored) {
  bf16 scale{};
  std::memcpy(&scale, stored, sizeof scale);
  return widen(scale);
}

/// A code as a whole number and the scale of its group. Those of f4_pair are doubled, and the scale
/// is halved.
std::int32_t code_at(i8, const std::byte* panel, panel_place at) {
  return std::to_integer<std::int8_t>(panel[i8_code_at(at)]);
}

std::int32_t code_at(i4_pair, const std::byte* panel, panel_place at) {
  const auto codes = std::to_integer<std::int32_t>(panel[i4_codes_at(at)]);
  return (at.k % 8 < 4 ? codes & 15 : codes >> 4) - 8;
}

std::int32_t code_at(f4_pair, const std::byte* panel, panel_place at) {
  const auto codes = std::to_integer<std::uint32_t>(panel[f4_codes_at(at)]);
  return static_cast<std::int32_t>(2 * widen_f4(at.k % 8 < 4 ? codes & 15u : codes >> 4));
}

float scale_at(i8, const std::byte* panel, panel_place at) {
  return stored_scale(panel + i8_scale_at(at));
}

float scale_at(i4_pair, const std::byte* panel, panel_place at) {
  return stored_scale(panel + i4_scale_at(at));
}

float scale_at(f4_pair, const std::byte* panel, panel_place at) {
  return widen(f8{std::to_integer<std::uint8_t>(panel[f4_scale_at(at)])}) / 2;
}

/// Continues one output's chain over f32 activations.
template <class W>
float add_products(const matmul_tile& tile, const std::byte* row, const std::byte* panel,
                   panel_place at, float sum) {
  const auto* const x = reinterpret_cast<const float*>(row);
  for (; at.k < tile.k_end; ++at.k) sum = std::fma(x[at.k], weight_at<W>(tile, panel, at), sum);
  return sum;
}

/// The same block by block, over codes of f8 in 256ths.
template <>
float add_products<f8>(const matmul_tile& tile, const std::byte* row, const std::byte* panel,
                       panel_place at, float sum) {
  const auto* const x = reinterpret_cast<const float*>(row);
  while (at.k < tile.k_end) {
    float scale = 0;
    std::memcpy(&scale, panel + tile.scales_offset + at.k / f8_block * 4, sizeof scale);
    const std::int64_t end = std::min(at.k + f8_block, tile.k_end);
    float block = 0;
    for (; at.k < end; ++at.k)
      block = std::fma(x[at.k], weight_at<f8>(tile, panel, at) / 256, block);
    sum = std::fma(block, scale * 256, sum);
  }
  return sum;
}

/// Weights of bf16 whose activations are bf16 as well.
struct pairs_of_bf16 {};

/// The same in pairs.
template <>
float add_products<pairs_of_bf16>(const matmul_tile& tile, const std::byte* row,
                                  const std::byte* panel, panel_place at, float sum) {
  const auto* const x = reinterpret_cast<const bf16*>(row);
  while (at.k < tile.k_end) {
    pair_sum pairs;
    const std::int64_t end = std::min(at.k + pair_sum::columns, tile.k_end);
    for (; at.k < end; ++at.k)
      pairs.add(at.k % 2, {widen(x[at.k]), weight_at<bf16>(tile, panel, at)});
    sum = pairs.added_to(sum);
  }
  return sum;
}

/// Weights of f8 whose activations are bf16.
struct pairs_of_f8 {};

/// The same block by block.
template <>
float add_products<pairs_of_f8>(const matmul_tile& tile, const std::byte* row,
                                const std::byte* panel, panel_place at, float sum) {
  const auto* const x = reinterpret_cast<const bf16*>(row);
  while (at.k < tile.k_end) {
    float scale = 0;
    std::memcpy(&scale, panel + tile.scales_offset + at.k / f8_block * 4, sizeof scale);
    const std::int64_t block_end = std::min(at.k + f8_block, tile.k_end);
    float block = 0;
    while (at.k < block_end) {
      pair_sum pairs;
      const std::int64_t end = std::min(at.k + pair_sum::columns, block_end);
      for (; at.k < end; ++at.k)
        pairs.add(at.k % 2, {widen(x[at.k]), weight_at<f8>(tile, panel, at) / 256});
      block = pairs.added_to(block);
    }
    sum = std::fma(block, scale * 256, sum);
  }
  return sum;
}

template <class W>
concept has_codes = std::same_as<W, i8> || std::same_as<W, i4_pair> || std::same_as<W, f4_pair>;

/// The same over quantised activations, group by group.
template <class W>
requires has_codes<W>
float add_products(const matmul_tile& tile, const std::byte* row, const std::byte* panel,
                   panel_place at, float sum) {
  const std::int64_t columns = code_columns(tile.weight_type);
  while (at.k < tile.k_end) {
    code_group group;
    const std::byte* const x = row + at.k / columns * (code_group_bytes + columns);
    std::memcpy(&group, x, sizeof group);
    const float scale = scale_at(W{}, panel, at) * group.scale;
    std::int32_t count = 0;
    for (std::int64_t i = 0; i < columns; ++i, ++at.k)
      count += std::to_integer<std::int8_t>(x[sizeof group + i]) * code_at(W{}, panel, at);
    sum = std::fma(static_cast<float>(count), scale, sum);
  }
  return sum;
}

}  // namespace

void plain_quantise(std::byte* to, const_elements x, const row_groups& groups) {
  with_activation(x.type, [&](auto tag) {
    const auto* const from = static_cast<const decltype(tag)*>(x.data);
    for (std::int64_t begin = 0; begin < groups.width; begin += groups.columns) {
      const std::int64_t end = std::min(begin + groups.columns, groups.width);
      float most = 0;
      bool finite = true;
      for (std::int64_t k = begin; k < end; ++k) {
        most = std::max(most, std::abs(widen(from[k])));
        finite = finite && std::isfinite(widen(from[k]));
      }
      code_group group{.scale = finite ? most / 127.0f : std::numeric_limits<float>::quiet_NaN()};
      std::byte* const codes = to + sizeof group;
      std::fill_n(codes, groups.columns, std::byte{0});
      for (std::int64_t k = begin; k < end && group.scale > 0; ++k) {
        const float code = std::nearbyint(widen(from[k]) / group.scale);
        const auto whole = static_cast<std::int8_t>(std::clamp(code, -127.0f, 127.0f));
        codes[k - begin] = static_cast<std::byte>(whole);
        group.sums[(k - begin) % 4 / 2] += whole;
      }
      std::memcpy(to, &group, sizeof group);
      to = codes + groups.columns;
    }
  });
}

void plain_matmul(const matmul_tile& tile) {
  const auto multiply = [&](auto tag) {
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      for (std::int64_t out = 0; out < tile.panels * panel_width; ++out) {
        float& sum = tile.sums[row * tile.sums_stride + out];
        sum = add_products<decltype(tag)>(tile, tile.x + row * tile.x_stride,
                                          tile.weights + (out / panel_width) * tile.panel_bytes,
                                          {.lane = out % panel_width, .k = tile.k_begin}, sum);
      }
    }
  };
  if (tile.x_type == dtype::bf16)
    return tile.weight_type == dtype::bf16 ? multiply(pairs_of_bf16{}) : multiply(pairs_of_f8{});
  with_packed(tile.weight_type, multiply);
}

}  // namespace glimmer
