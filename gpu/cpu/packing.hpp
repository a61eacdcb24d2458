#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cpu/kernels.hpp"

namespace glimmer {

/// One element of a panel.
struct panel_place {
  std::int64_t lane = 0;
  std::int64_t k = 0;
};

/// Formats that `pack` makes of wider weights.
constexpr bool is_grouped(dtype weights) {
  return weights == dtype::i8 || weights == dtype::i4_pair;
}

/// Columns of a group in formats whose products quantise the activations as well; 0 in others.
constexpr std::int64_t code_columns(dtype weights) {
  if (weights == dtype::i8) return i8_block;
  if (weights == dtype::f4_pair) return f4_block;
  return weights == dtype::i4_pair ? i4_block : 0;
}

/// Layout of packed weights: panels of 16 outputs, one after another, each a contiguous stream.
///
///     f32, f16       panel [in, 16]
///     bf16, f8_e4m3  panel [in / 2, 16, 2]: pairs along `in`, so that a shift and a mask widen
///                    them; f8 is followed by an f32 scale for each 128 columns (the 16 outputs
///                    lie in one block of 128 rows), and padding to 64 bytes
///     i8             panel [in / 64] of 16 bf16 scales and codes [16, 16, 4]: 1056 bytes; four
///                    neighbours along `in` lie together, for products of bytes
///     i4_pair        panel [in / 32] of 16 bf16 scales and codes [4, 16, 4]: 288 bytes; the lower
///                    halves of four bytes are four neighbours, the upper halves the next four
///     f4_pair        panel [in / 16] of 16 f8 scales and codes [2, 16, 4] likewise: 144 bytes
///
/// `in` is rounded up to even, to whole blocks where there are such, `out` to a multiple of 16;
/// what lies beyond is never read as a value.
struct panel_layout {
  std::int64_t panels = 0;
  std::int64_t panel_bytes = 0;
  std::int64_t scales_offset = 0;  ///< of f8_e4m3, inside a panel
  dtype type = dtype::bf16;

  panel_layout(matrix_extent extent, dtype source)
      : panels((extent.out + panel_width - 1) / panel_width), type(source) {
    const std::int64_t values = (extent.in + extent.in % 2) * panel_width;
    panel_bytes = values * static_cast<std::int64_t>(size_of(source));
    if (source == dtype::f8_e4m3) {
      scales_offset = panel_bytes;
      const std::int64_t scales = (extent.in + f8_block - 1) / f8_block * 4;
      panel_bytes += (scales + 63) / 64 * 64;
    }
    if (source == dtype::f4_pair) panel_bytes = extent.in / f4_block * f4_block_bytes;
    if (source == dtype::i8) panel_bytes = (extent.in + i8_block - 1) / i8_block * i8_block_bytes;
    if (source == dtype::i4_pair)
      panel_bytes = (extent.in + i4_block - 1) / i4_block * i4_block_bytes;
  }

  std::size_t bytes() const { return static_cast<std::size_t>(panels * panel_bytes); }

  /// Where an element of an unscaled panel or of f8_e4m3 lies, counted in elements.
  std::int64_t index(panel_place at) const {
    if (type == dtype::bf16 || type == dtype::f8_e4m3)
      return (at.k / 2) * (2 * panel_width) + 2 * at.lane + at.k % 2;
    return at.k * panel_width + at.lane;
  }
};

/// Where a code of an i8 panel, the byte with a code of an i4_pair or an f4_pair panel, and their
/// scales lie, in bytes.
constexpr std::int64_t i8_code_at(panel_place at) {
  return at.k / i8_block * i8_block_bytes + 2 * panel_width +
         at.k % i8_block / 4 * (4 * panel_width) + 4 * at.lane + at.k % 4;
}
constexpr std::int64_t i8_scale_at(panel_place at) {
  return at.k / i8_block * i8_block_bytes + 2 * at.lane;
}
constexpr std::int64_t i4_codes_at(panel_place at) {
  return at.k / i4_block * i4_block_bytes + 2 * panel_width +
         at.k % i4_block / 8 * (4 * panel_width) + 4 * at.lane + at.k % 4;
}
constexpr std::int64_t i4_scale_at(panel_place at) {
  return at.k / i4_block * i4_block_bytes + 2 * at.lane;
}
constexpr std::int64_t f4_codes_at(panel_place at) {
  return at.k / f4_block * f4_block_bytes + panel_width + at.k % f4_block / 8 * (4 * panel_width) +
         4 * at.lane + at.k % 4;
}
constexpr std::int64_t f4_scale_at(panel_place at) {
  return at.k / f4_block * f4_block_bytes + at.lane;
}

}  // namespace glimmer
