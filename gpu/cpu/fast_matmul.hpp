#pragma once

#include <cstddef>

#include "gpu/cpu/fast_code_matmul.hpp"
#include "gpu/cpu/fast_math.hpp"
#include "gpu/cpu/kernels.hpp"
#include "gpu/cpu/row_blocks.hpp"

namespace glimmer {

// One chain of fused multiply-adds per output, in the order of k: so tiling is free to follow the
// registers, and a row has the same bits in a block of one row and of six. Codes of
// published formats are widened in registers for a single block of rows; for more, once into
// scratch memory, which every block then reads as f32: the same weights, so the same bits. What is
// made of whole numbers is in fast_code_matmul.hpp.

/// Rows of the largest block.
inline constexpr std::int64_t block_rows_max = 6;

/// Terms [begin, end) of a sum.
struct k_range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// sums[r][p] += x[r][k] * w[p]
template <class L, int Rows, int Panels>
[[gnu::always_inline]] inline void add_products(L (&sums)[Rows][Panels],
                                                const float* const (&x)[Rows], std::int64_t k,
                                                const L (&w)[Panels]) {
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    const L factor = L::all(x[r][k]);
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) sums[r][p] = L::fma(factor, w[p], sums[r][p]);
  }
}

/// Which of two neighbouring terms.
enum class of_pair { first, second };

/// Columns that share the scales in registers; unscaled panels have no such bound.
template <class W>
inline constexpr std::int64_t scale_span = std::int64_t{1} << 40;
template <>
inline constexpr std::int64_t scale_span<f8> = f8_block;
template <>
inline constexpr std::int64_t scale_span<f4_pair> = f4_block;

/// Formats whose widening takes arithmetic.
template <class W>
inline constexpr bool has_scales = scale_span<W> <= f8_block;

/// The scales of each panel's block at k. L::f8_values gives values / 256, so that factor is in the
/// scale of f8 here; a power of two moves no rounding.
template <class L, class W, int Panels>
[[gnu::always_inline]] inline void load_scales(L (&scale)[Panels],
                                               const std::byte* const (&panel)[Panels],
                                               const panel_scales& scales, std::int64_t k) {
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p) {
    if constexpr (std::is_same_v<W, f8>) {
      float stored;
      __builtin_memcpy(&stored, panel[p] + scales.offset + k / f8_block * 4, sizeof stored);
      scale[p] = L::all(stored * 256.0f);
    } else if constexpr (std::is_same_v<W, f4_pair>) {
      const L block = L::f8_values(panel[p] + k / f4_block * f4_block_bytes) * L::all(256.0f);
      scale[p] = block * L::all(scales.rule.multiplier);
      // A division by 1 moves no bit, and takes as long as a block's products.
      if (scales.rule.divisor != 1) scale[p] = scale[p] / L::all(scales.rule.divisor);
      // In what L counts codes: a half for doubled ones, which moves no rounding.
      if constexpr (L::f4_unit != 1) scale[p] = scale[p] * L::all(L::f4_unit);
    }
  }
}

/// The 16 weights of each panel at k (first) or k + 1 (second), k even. W is the stored type; see
/// packing.hpp.
template <class L, class W, of_pair Which, int Panels>
[[gnu::always_inline]] inline void load_weights(L (&w)[Panels],
                                                const std::byte* const (&panel)[Panels],
                                                const L (&scale)[Panels], std::int64_t k) {
  constexpr bool first = Which == of_pair::first;
  const std::int64_t bytes = k * panel_width * static_cast<std::int64_t>(sizeof(W));
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p) {
    const std::byte* const pair = panel[p] + bytes;
    if constexpr (std::is_same_v<W, f8>) {
      w[p] = (first ? L::low_f8(pair) : L::high_f8(pair)) * scale[p];
    } else if constexpr (std::is_same_v<W, f4_pair>) {
      // f4_codes_at of packing.hpp in two additions.
      const std::byte* const codes = panel[p] + (8 * k + (k & -f4_block) + panel_width);
      w[p] = (first ? L::low_f4(codes) : L::high_f4(codes)) * scale[p];
    } else if constexpr (!std::is_same_v<W, bf16>) {
      w[p] = L::load(reinterpret_cast<const W*>(pair) + (first ? 0 : panel_width), all_lanes{});
    } else if constexpr (first) {
      w[p] = L::low_halves(pair);
    } else {
      w[p] = L::high_halves(pair);
    }
  }
}

/// The next panel's pair of terms is on its way while this one's is used: a panel's part of a tile
/// is too short for the processor to notice a stream. Several panels at once are streams enough. A
/// pair of two-byte weights is one line.
template <class W, int Panels>
[[gnu::always_inline]] inline void fetch_ahead(const matmul_tile& t,
                                               const std::byte* const (&panel)[Panels],
                                               std::int64_t k) {
  if constexpr (Panels == 1 && sizeof(W) == 2) {
    __builtin_prefetch(panel[0] + t.panel_bytes + k * panel_width * 2, 0, 2);
  }
}

template <class L, class W, int Rows, int Panels>
void multiply_block(const matmul_tile& t, block_corner at) {
  const float* x[Rows];
  float* out[Rows];
  const std::byte* panel[Panels];
  L sums[Rows][Panels];
  L w[Panels];
  L scale[Panels];
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p) panel[p] = t.weights + (at.panel + p) * t.panel_bytes;
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    x[r] = reinterpret_cast<const float*>(t.x + (at.row + r) * t.x_stride);
    out[r] = t.sums + (at.row + r) * t.sums_stride + at.panel * panel_width;
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) sums[r][p] = L::load(out[r] + p * panel_width, all_lanes{});
  }

  std::int64_t k = t.k_begin;
  while (k < t.k_end) {
    const std::int64_t end = t.k_end - k < scale_span<W> ? t.k_end : k + scale_span<W>;
    load_scales<L, W>(scale, panel, t.scales, k);
    for (; k + 2 <= end; k += 2) {
      fetch_ahead<W>(t, panel, k);
      load_weights<L, W, of_pair::first>(w, panel, scale, k);
      add_products(sums, x, k, w);
      load_weights<L, W, of_pair::second>(w, panel, scale, k);
      add_products(sums, x, k + 1, w);
    }
    if (k < end) {
      load_weights<L, W, of_pair::first>(w, panel, scale, k);
      add_products(sums, x, k++, w);
    }
  }

#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) sums[r][p].store(out[r] + p * panel_width, all_lanes{});
}

/// All panels of the tile for `Rows` rows from `row` on: several at once, then one by one.
template <class L, class W, int Rows>
void multiply_rows(const matmul_tile& t, std::int64_t row) {
  constexpr int panels = L::panels_for(Rows, has_scales<W>);
  std::int64_t panel = 0;
  for (; panel + panels <= t.panels; panel += panels)
    multiply_block<L, W, Rows, panels>(t, {.row = row, .panel = panel});
  for (; panel < t.panels; ++panel) multiply_block<L, W, Rows, 1>(t, {.row = row, .panel = panel});
}

template <class L, class W>
void multiply_tile(const matmul_tile& t);

/// wide [terms, 16] = weights of one panel as f32, from a multiple of 128 on.
template <class L, class W>
void widen_panel(float* wide, const std::byte* from, const panel_scales& scales, k_range range) {
  const std::byte* const panel[1] = {from};
  L scale[1];
  L w[1];
  std::int64_t k = range.begin;
  const auto put = [&] {
    w[0].store(wide, all_lanes{});
    wide += panel_width;
  };
  while (k < range.end) {
    const std::int64_t end = range.end - k < scale_span<W> ? range.end : k + scale_span<W>;
    load_scales<L, W>(scale, panel, scales, k);
    for (; k + 2 <= end; k += 2) {
      load_weights<L, W, of_pair::first>(w, panel, scale, k);
      put();
      load_weights<L, W, of_pair::second>(w, panel, scale, k);
      put();
    }
    if (k < end) {
      load_weights<L, W, of_pair::first>(w, panel, scale, k++);
      put();
    }
  }
}

/// All rows of the tile over weights that are widened once, some panels and terms at a time.
template <class L, class W>
void multiply_widened(const matmul_tile& t) {
  constexpr std::int64_t panels = L::panels_for(block_rows_max, false);
  constexpr std::int64_t terms = L::widened_terms;
  alignas(64) float wide[panels * terms * panel_width];
  matmul_tile part = t;
  part.weights = reinterpret_cast<const std::byte*>(wide);
  part.panel_bytes = terms * panel_width * static_cast<std::int64_t>(sizeof(float));
  part.k_begin = 0;
  for (std::int64_t panel = 0; panel < t.panels; panel += panels) {
    part.panels = t.panels - panel < panels ? t.panels - panel : panels;
    part.sums = t.sums + panel * panel_width;
    for (std::int64_t k = t.k_begin; k < t.k_end; k += terms) {
      const std::int64_t end = t.k_end - k < terms ? t.k_end : k + terms;
      for (std::int64_t p = 0; p < part.panels; ++p)
        widen_panel<L, W>(wide + p * terms * panel_width, t.weights + (panel + p) * t.panel_bytes,
                          t.scales, {.begin = k, .end = end});
      part.x = t.x + k * static_cast<std::int64_t>(sizeof(float));
      part.k_end = end - k;
      multiply_tile<L, float>(part);
    }
  }
}

template <class L, class W>
void multiply_tile(const matmul_tile& t) {
  if constexpr (has_scales<W>) {
    if (t.rows > block_rows_max) return multiply_widened<L, W>(t);
  }
  using function = void (*)(const matmul_tile&, std::int64_t);
  constexpr function by_rows[] = {multiply_rows<L, W, 1>, multiply_rows<L, W, 2>,
                                  multiply_rows<L, W, 3>, multiply_rows<L, W, 4>,
                                  multiply_rows<L, W, 5>, multiply_rows<L, W, 6>};
  in_even_blocks<block_rows_max>(
      t.rows, [&](std::int64_t row, std::int64_t rows) { by_rows[rows - 1](t, row); });
}

template <class L>
void fast_matmul(const matmul_tile& tile) {
  with_packed(tile.weight_type, [&](auto tag) {
    if constexpr (has_codes<decltype(tag)>) {
      multiply_code_tile<L, decltype(tag)>(tile);
    } else {
      multiply_tile<L, decltype(tag)>(tile);
    }
  });
}

}  // namespace glimmer
