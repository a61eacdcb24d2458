#pragma once

#include <cstddef>
#include <utility>

#include "gpu/cpu/fast_code_matmul.hpp"
#include "gpu/cpu/fast_math.hpp"
#include "gpu/cpu/kernels.hpp"
#include "gpu/cpu/row_blocks.hpp"
#include "gpu/cpu/weight_streams.hpp"

namespace glimmer {

// One chain of fused multiply-adds per output, in the order of k: so tiling is free to follow the
// registers, and a row has the same bits in a block of one row and of six. What is made of whole
// numbers is in fast_code_matmul.hpp.
//
// FP8 goes by blocks of 128 columns, each a chain of its own. With their bits moved into place
// codes are f16 numbers. These go through memory, for a vector of them is widened to f32 fastest as
// it is loaded: a few columns at a time, or all of the 128 where more than one block of rows wants
// them.

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

/// A block of FP8 codes as f16 or f32: code / 256.
template <class T>
struct widened_f8 {
  using type = T;
  T codes[f8_block * panel_width];
  float scale;
  std::byte padding[60];
};

/// A block of bf16 as f32.
struct widened_bf16 {
  float values[f8_block * panel_width];
};

/// What stands in a panel of W.
template <class W>
struct stored {
  using type = W;
};
template <class T>
struct stored<widened_f8<T>> {
  using type = T;
};

/// FP8, whose blocks of columns have sums and scales of their own.
template <class W>
inline constexpr bool has_blocks = std::is_same_v<W, f8>;
template <class T>
inline constexpr bool has_blocks<widened_f8<T>> = true;

/// Bytes of a weight in a panel.
template <class W>
inline constexpr std::int64_t weight_bytes = sizeof(typename stored<W>::type);

/// Which of two neighbouring terms.
enum class of_pair { first, second };

/// One of two terms' 16 weights of each panel. W is the stored type; see packing.hpp.
template <class L, class W, of_pair Which, int Panels>
[[gnu::always_inline]] inline void load_weights(L (&w)[Panels],
                                                const std::byte* const (&pair)[Panels]) {
  constexpr bool first = Which == of_pair::first;
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p) {
    if constexpr (!std::is_same_v<W, bf16>) {
      w[p] = L::load(reinterpret_cast<const W*>(pair[p]) + (first ? 0 : panel_width), all_lanes{});
    } else if constexpr (first) {
      w[p] = L::low_halves(pair[p]);
    } else {
      w[p] = L::high_halves(pair[p]);
    }
  }
}

/// Asks for weights behind a pair of terms in each panel; one of two-byte weights is a line.
template <class W, int Panels>
[[gnu::always_inline]] inline void fetch_ahead(const std::byte* const (&pair)[Panels],
                                               std::int64_t ahead) {
  if constexpr (sizeof(W) == 2) {
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) fetch(pair[p] + ahead);
  }
}

/// sums += the products of one or two terms. Two chains take even and odd terms.
template <class L, class W, int Chains, int Rows, int Panels>
[[gnu::always_inline]] inline void add_pair(L (&sums)[Chains][Rows][Panels],
                                            const float* const (&x)[Rows],
                                            const std::byte* const (&pair)[Panels], k_range terms) {
  L w[Panels];
  load_weights<L, W, of_pair::first>(w, pair);
  add_products(sums[0], x, terms.begin, w);
  if (terms.end - terms.begin < 2) return;
  load_weights<L, W, of_pair::second>(w, pair);
  add_products(sums[Chains - 1], x, terms.begin + 1, w);
}

/// FP8 columns that are widened before any is used, and how far ahead a line is fetched. Fewer or
/// more of both were slower.
inline constexpr std::int64_t f8_columns = 8;
inline constexpr std::int64_t f8_ahead = 1024;

/// The same of up to `f8_columns` terms of FP8 codes.
template <class L, int Chains, int Rows, int Panels>
[[gnu::always_inline]] inline void add_f8_terms(L (&sums)[Chains][Rows][Panels],
                                                const float* const (&x)[Rows],
                                                const std::byte* const (&codes)[Panels],
                                                k_range terms) {
  const std::int64_t count = terms.end - terms.begin;
  alignas(64) f16 halves[Panels][f8_columns * panel_width];
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p) {
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < count; i += 2) {
      const std::byte* const pair = codes[p] + i * panel_width;
      if (i % 4 == 0) __builtin_prefetch(pair + f8_ahead);
      L::widen_f8_pair(halves[p] + i * panel_width, pair);
    }
  }
  asm("" : "+m"(halves));  // or the compiler keeps them in registers
#pragma GCC unroll 8
  for (std::int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) {
      const L w = L::load(halves[p] + i * panel_width, all_lanes{});
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r)
        sums[i % Chains][r][p] = L::fma(L::all(x[r][terms.begin + i]), w, sums[i % Chains][r][p]);
    }
  }
}

/// sums += the products of the terms in `range`.
template <class L, class W, int Chains, int Rows, int Panels>
[[gnu::always_inline]] inline void add_range(L (&sums)[Chains][Rows][Panels], const matmul_tile& t,
                                             block_corner at, k_range range) {
  const float* x[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
    x[r] = reinterpret_cast<const float*>(t.x + (at.row + r) * t.x_stride);
  const std::int64_t ahead = fetch_distance(t, Panels);
  const auto add = [&](k_range terms) __attribute__((always_inline)) {
    const std::byte* pair[Panels];
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p)
      pair[p] = t.weights + (at.panel + p) * t.panel_bytes +
                terms.begin * (panel_width * weight_bytes<W>);
    if constexpr (std::is_same_v<W, f8>) {
      add_f8_terms<L>(sums, x, pair, terms);
    } else {
      fetch_ahead<W>(pair, ahead);
      add_pair<L, typename stored<W>::type>(sums, x, pair, terms);
    }
  };
  std::int64_t k = range.begin;
  if constexpr (std::is_same_v<W, f8>)
    for (; k + f8_columns <= range.end; k += f8_columns) add({.begin = k, .end = k + f8_columns});
  for (; k + 2 <= range.end; k += 2) add({.begin = k, .end = k + 2});
  if (k < range.end) add({.begin = k, .end = k + 1});
}

/// Where the sums of one output's row and panel lie.
[[gnu::always_inline]] inline float* sums_at(const matmul_tile& t, block_corner at) {
  return t.sums + at.row * t.sums_stride + at.panel * panel_width;
}

template <class L, class W, int Rows, int Panels>
void multiply_block(const matmul_tile& t, block_corner at) {
  L sums[1][Rows][Panels];
  const auto place = [&](int r, int p) __attribute__((always_inline)) {
    return sums_at(t, {.row = at.row + r, .panel = at.panel + p});
  };
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) sums[0][r][p] = L::load(place(r, p), all_lanes{});
  add_range<L, W>(sums, t, at, {.begin = t.k_begin, .end = t.k_end});
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) sums[0][r][p].store(place(r, p), all_lanes{});
}

/// The same for FP8: block by block, sums = fma(sum of a block, its scale, sums).
template <class L, class W, int Rows, int Panels>
requires has_blocks<W>
void multiply_block(const matmul_tile& t, block_corner at) {
  for (std::int64_t k = t.k_begin; k < t.k_end; k += f8_block) {
    L sums[1][Rows][Panels];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (int p = 0; p < Panels; ++p) sums[0][r][p] = L::zero();
    float scale[Panels];  // asked for now, for they lie far away
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) {
      const std::byte* const panel = t.weights + (at.panel + p) * t.panel_bytes;
      __builtin_memcpy(&scale[p], panel + t.scales_offset + k / f8_block * 4, sizeof(float));
    }
    asm("" : "+m"(scale));
    const std::int64_t end = t.k_end - k < f8_block ? t.k_end : k + f8_block;
    add_range<L, W>(sums, t, at, {.begin = k, .end = end});
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) {
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        float* const to = sums_at(t, {.row = at.row + r, .panel = at.panel + p});
        L::fma(sums[0][r][p], L::all(scale[p] * 256), L::load(to, all_lanes{}))
            .store(to, all_lanes{});
      }
    }
  }
}

/// All panels of the tile for `Rows` rows from `row` on: several at once, then one by one.
template <class L, class W, int Rows>
void multiply_rows(const matmul_tile& t, std::int64_t row) {
  constexpr int panels = L::panels_for(Rows);
  std::int64_t panel = 0;
  for (; panel + panels <= t.panels; panel += panels)
    multiply_block<L, W, Rows, panels>(t, {.row = row, .panel = panel});
  for (; panel < t.panels; ++panel) multiply_block<L, W, Rows, 1>(t, {.row = row, .panel = panel});
}

/// All rows, in blocks of as many as there are functions.
template <class L, class W, int... Before>
void multiply_tile(const matmul_tile& t, std::integer_sequence<int, Before...>) {
  using function = void (*)(const matmul_tile&, std::int64_t);
  constexpr function by_rows[] = {multiply_rows<L, W, Before + 1>...};
  in_even_blocks<sizeof...(Before)>(
      t.rows, [&](std::int64_t row, std::int64_t rows) { by_rows[rows - 1](t, row); });
}

template <class L, class W>
void multiply_tile(const matmul_tile& t) {
  multiply_tile<L, W>(t, std::make_integer_sequence<int, L::rows_max>{});
}

/// Terms `range` of a panel, within one block.
template <class L, class T>
void widen_block(widened_f8<T>& to, const std::byte* panel, std::int64_t scales_offset,
                 k_range range) {
  for (std::int64_t k = range.begin; k < range.end; k += 2) {
    T* const pair = to.codes + (k - range.begin) * panel_width;
    if constexpr (std::is_same_v<T, f16>) {
      L::widen_f8_pair(pair, panel + k * panel_width);
    } else {
      alignas(64) f16 halves[2 * panel_width];
      L::widen_f8_pair(halves, panel + k * panel_width);
      L::load(halves, all_lanes{}).store(pair, all_lanes{});
      L::load(halves + panel_width, all_lanes{}).store(pair + panel_width, all_lanes{});
    }
  }
  __builtin_memcpy(&to.scale, panel + scales_offset + range.begin / f8_block * 4, sizeof to.scale);
}

template <class L>
void widen_block(widened_bf16& to, const std::byte* panel, std::int64_t, k_range range) {
  for (std::int64_t k = range.begin; k < range.end; k += 2) {
    const std::byte* const pair = panel + k * panel_width * 2;
    float* const first = to.values + (k - range.begin) * panel_width;
    L::low_halves(pair).store(first, all_lanes{});
    L::high_halves(pair).store(first + panel_width, all_lanes{});
  }
}

/// Many rows: some panels at a time, a block of columns is widened once.
template <class L, class Wide>
void multiply_widened(const matmul_tile& t) {
  constexpr bool blocks = has_blocks<Wide>;
  constexpr std::int64_t panels = L::panels_for(L::rows_max);
  alignas(64) Wide wide[panels];
  matmul_tile part = t;
  part.weights = reinterpret_cast<const std::byte*>(wide);
  part.panel_bytes = sizeof(Wide);
  if constexpr (blocks) part.scales_offset = __builtin_offsetof(Wide, scale);
  part.k_begin = 0;
  for (std::int64_t panel = 0; panel < t.panels; panel += panels) {
    part.panels = t.panels - panel < panels ? t.panels - panel : panels;
    part.sums = t.sums + panel * panel_width;
    for (std::int64_t k = t.k_begin; k < t.k_end; k += f8_block) {
      const std::int64_t end = t.k_end - k < f8_block ? t.k_end : k + f8_block;
      for (std::int64_t p = 0; p < part.panels; ++p)
        widen_block<L>(wide[p], t.weights + (panel + p) * t.panel_bytes, t.scales_offset,
                       {.begin = k, .end = end});
      part.x = t.x + k * static_cast<std::int64_t>(sizeof(float));
      part.k_end = end - k;
      multiply_tile<L, std::conditional_t<blocks, Wide, float>>(part);
    }
  }
}

/// Rows of bf16 above which it pays to widen their weights once for all.
inline constexpr std::int64_t widened_rows = 64;

template <class L>
void fast_matmul(const matmul_tile& tile) {
  with_packed(tile.weight_type, [&](auto tag) {
    if constexpr (has_codes<decltype(tag)>) {
      multiply_code_tile<L, decltype(tag)>(tile);
    } else {
      using W = decltype(tag);
      if constexpr (std::is_same_v<W, f8>)
        if (tile.rows > L::rows_max)
          return multiply_widened<L, widened_f8<typename L::wide_f8>>(tile);
      if constexpr (std::is_same_v<W, bf16> && L::widens_bf16)
        if (tile.rows > widened_rows) return multiply_widened<L, widened_bf16>(tile);
      multiply_tile<L, W>(tile);
    }
  });
}

}  // namespace glimmer
