#pragma once

#include <immintrin.h>

#include <utility>

#include "gpu/cpu/fast_matmul.hpp"
#include "gpu/cpu/kernels.hpp"

namespace glimmer {

namespace {

// Sums of FP8 in pairs by vectors, for so few rows that a tile's work of widening would not be
// shared.

/// Tiny numbers count as zero while this lives, as they do in tiles.
class without_tiny_numbers {
 public:
  without_tiny_numbers() : before_(_mm_getcsr()) {
    constexpr unsigned operands = 1u << 6;
    constexpr unsigned results = 1u << 15;
    _mm_setcsr(before_ | operands | results);
  }
  ~without_tiny_numbers() { _mm_setcsr(before_); }
  without_tiny_numbers(const without_tiny_numbers&) = delete;
  without_tiny_numbers& operator=(const without_tiny_numbers&) = delete;

 private:
  unsigned before_;
};

/// Rows and panels of a block: three sums each fit into 32 registers.
inline constexpr int pair_rows_max = 3;
constexpr int pair_panels_for(int rows) {
  return rows <= 2 ? 4 : 2;
}

/// sums[r][p] += terms `range`, in steps of 32.
template <class L, class W, int Rows, int Panels>
[[gnu::always_inline]] inline void add_pair_steps(L (&sums)[Rows][Panels], const matmul_tile& t,
                                                  block_corner at, k_range range) {
  constexpr std::int64_t step = 32;
  for (std::int64_t k = range.begin; k < range.end; k += step) {
    L parts[2][Rows][Panels];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (int p = 0; p < Panels; ++p) parts[0][r][p] = parts[1][r][p] = L::zero();
    add_range<L, W>(parts, t, at, {.begin = k, .end = range.end - k < step ? range.end : k + step});
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (int p = 0; p < Panels; ++p) sums[r][p] = sums[r][p] + (parts[0][r][p] + parts[1][r][p]);
  }
}

template <class L, class W, int Rows, int Panels>
void multiply_pair_block(const matmul_tile& t, block_corner at) {
  // FP8 sums blocks of columns from 0, bf16 goes on with what is there.
  constexpr bool blocks = has_blocks<W>;
  const std::int64_t columns = blocks ? f8_block : t.k_end - t.k_begin;
  for (std::int64_t k = t.k_begin; k < t.k_end; k += columns) {
    L sums[Rows][Panels];
    const auto place = [&](int r, int p) __attribute__((always_inline)) {
      return sums_at(t, {.row = at.row + r, .panel = at.panel + p});
    };
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (int p = 0; p < Panels; ++p)
        sums[r][p] = blocks ? L::zero() : L::load(place(r, p), all_lanes{});
    add_pair_steps<L, W>(sums, t, at,
                         {.begin = k, .end = t.k_end - k < columns ? t.k_end : k + columns});
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) {
      float scale = 1;
      if constexpr (blocks) {
        const std::byte* const panel = t.weights + (at.panel + p) * t.panel_bytes;
        __builtin_memcpy(&scale, panel + t.scales_offset + k / f8_block * 4, sizeof scale);
      }
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        if constexpr (blocks)
          sums[r][p] = L::fma(sums[r][p], L::all(scale * 256), L::load(place(r, p), all_lanes{}));
        sums[r][p].store(place(r, p), all_lanes{});
      }
    }
  }
}

template <class L, class W, int Rows>
void multiply_pair_rows(const matmul_tile& t) {
  constexpr int panels = pair_panels_for(Rows);
  std::int64_t panel = 0;
  for (; panel + panels <= t.panels; panel += panels)
    multiply_pair_block<L, W, Rows, panels>(t, {.row = 0, .panel = panel});
  for (; panel < t.panels; ++panel)
    multiply_pair_block<L, W, Rows, 1>(t, {.row = 0, .panel = panel});
}

/// Up to `pair_rows_max` rows.
template <class L, class W, int... Before>
void multiply_few_pairs(const matmul_tile& t, std::integer_sequence<int, Before...>) {
  using function = void (*)(const matmul_tile&);
  constexpr function by_rows[] = {multiply_pair_rows<L, W, Before + 1>...};
  by_rows[t.rows - 1](t);
}

template <class L, class W>
void multiply_few_pairs(const matmul_tile& t) {
  constexpr std::int64_t columns = 512;  // widened at a time
  alignas(64) float x[pair_rows_max][columns];
  const without_tiny_numbers from_here;
  matmul_tile part = t;
  part.x = reinterpret_cast<const std::byte*>(x);
  part.x_stride = sizeof x[0];
  part.k_begin = 0;
  for (std::int64_t k = t.k_begin; k < t.k_end; k += columns) {
    part.k_end = t.k_end - k < columns ? t.k_end - k : columns;
    for (std::int64_t r = 0; r < t.rows; ++r) {
      const auto* const row = reinterpret_cast<const bf16*>(t.x + r * t.x_stride) + k;
      in_blocks<L>(part.k_end, [&](std::int64_t i, auto lanes) {
        L::load(row + i, lanes).store(x[r] + i, lanes);
      });
    }
    const std::int64_t skipped = k * panel_width * weight_bytes<W>;
    part.weights = t.weights + skipped;
    part.scales_offset = t.scales_offset - skipped + k / f8_block * 4;
    multiply_few_pairs<L, W>(part, std::make_integer_sequence<int, pair_rows_max>{});
  }
}

}  // namespace

}  // namespace glimmer
