#pragma once

#include <cstddef>
#include <type_traits>

#include "gpu/cpu/fast_math.hpp"
#include "gpu/cpu/kernels.hpp"
#include "gpu/cpu/row_blocks.hpp"

namespace glimmer {

// Products of codes: i8 and i4_pair weights times activations that are quantised in the same groups
// of columns. A group's sum is a whole number and exact, whatever the order; only the chain over
// the groups rounds.

/// Rows of the largest block.
inline constexpr std::int64_t code_rows_max = 4;

/// Formats whose products quantise the activations as well.
template <class W>
inline constexpr bool has_codes = std::is_same_v<W, i8> || std::is_same_v<W, i4_pair>;

/// Where groups lie: columns, bytes of a panel's block (16 scales, codes) and of a row's group.
template <class W>
struct code_layout {
  static constexpr bool bytes = std::is_same_v<W, i8>;
  static constexpr std::int64_t columns = bytes ? i8_block : i4_block;
  static constexpr std::int64_t block = bytes ? i8_block_bytes : i4_block_bytes;
  static constexpr std::int64_t scales = 2 * panel_width;
  static constexpr std::int64_t row_group = code_group_bytes + columns;
};

/// Adds four columns, `quad` of a group: L::codes holds four neighbours of 16 outputs. Only the
/// lower (even quads) or the upper halves of an i4_pair block's bytes.
template <class L, class W, bool Odd, int Rows, int Panels>
[[gnu::always_inline]] inline void add_quad(typename L::codes (&sums)[Rows][Panels],
                                            const std::byte* const (&x)[Rows],
                                            const std::byte* const (&panel)[Panels],
                                            std::int64_t quad) {
  typename L::codes w[Panels];
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p) {
    const std::byte* const codes = panel[p] + code_layout<W>::scales;
    if constexpr (std::is_same_v<W, i8>) {
      w[p] = L::load_codes(codes + quad * 64);
    } else if constexpr (Odd) {
      w[p] = L::high_codes(codes + quad / 2 * 64);
    } else {
      w[p] = L::low_codes(codes + quad / 2 * 64);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    const auto four = L::all_codes(x[r] + code_group_bytes + 4 * quad);
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) L::add_products(W{}, sums[r][p], w[p], four);
  }
}

/// Asks for the panels after these while their rows are multiplied: a panel's share of the columns
/// is too short for the processor to notice a stream. One row waits for nothing else than memory,
/// and its panels are streams enough.
template <class W, int Rows, int Panels>
[[gnu::always_inline]] inline void fetch_next(const matmul_tile& t,
                                              const std::byte* const (&panel)[Panels],
                                              std::int64_t line) {
  if constexpr (Rows > 1) {
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p)
      __builtin_prefetch(panel[p] + Panels * t.panel_bytes + line * 64, 0, 2);
  }
}

/// out[r][p] = fma(sum of codes, scale of w * scale of x, out[r][p])
template <class L, class W, int Rows, int Panels>
[[gnu::always_inline]] inline void add_group(float* const (&out)[Rows],
                                             const typename L::codes (&sums)[Rows][Panels],
                                             const std::byte* const (&x)[Rows],
                                             const std::byte* const (&panel)[Panels]) {
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p) {
    const L scale_of_w = L::load(reinterpret_cast<const bf16*>(panel[p]), all_lanes{});
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      float scale_of_x;
      __builtin_memcpy(&scale_of_x, x[r] + __builtin_offsetof(code_group, scale), sizeof(float));
      const auto sum_of_x = L::all_codes(x[r] + __builtin_offsetof(code_group, sum));
      float* const to = out[r] + p * panel_width;
      const L sum = L::load(to, all_lanes{});
      L::fma(L::sum_of(W{}, sums[r][p], sum_of_x), scale_of_w * L::all(scale_of_x), sum)
          .store(to, all_lanes{});
    }
  }
}

template <class L, class W, int Rows, int Panels>
void multiply_code_block(const matmul_tile& t, block_corner at) {
  using layout = code_layout<W>;
  const std::int64_t first = t.k_begin / layout::columns;
  const std::byte* x[Rows];
  float* out[Rows];
  const std::byte* panel[Panels];
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p)
    panel[p] = t.weights + (at.panel + p) * t.panel_bytes + first * layout::block;
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    x[r] = t.x + (at.row + r) * t.x_stride + first * layout::row_group;
    out[r] = t.sums + (at.row + r) * t.sums_stride + at.panel * panel_width;
  }
  for (std::int64_t k = t.k_begin; k < t.k_end; k += layout::columns) {
    typename L::codes sums[Rows][Panels];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
      for (int p = 0; p < Panels; ++p) sums[r][p] = L::no_codes();
#pragma GCC unroll 1
    for (std::int64_t quad = 0; quad < layout::columns / 4; quad += 2) {
      fetch_next<W, Rows>(t, panel, layout::bytes ? quad : quad / 2);
      if constexpr (layout::bytes) fetch_next<W, Rows>(t, panel, quad + 1);
      add_quad<L, W, false>(sums, x, panel, quad);
      add_quad<L, W, true>(sums, x, panel, quad + 1);
    }
    add_group<L, W>(out, sums, x, panel);
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) panel[p] += layout::block;
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) x[r] += layout::row_group;
  }
}

/// All panels of the tile for `Rows` rows from `row` on: several at once, then one by one.
template <class L, class W, int Rows>
void multiply_code_rows(const matmul_tile& t, std::int64_t row) {
  constexpr int panels = L::code_panels_for(Rows);
  std::int64_t panel = 0;
  for (; panel + panels <= t.panels; panel += panels)
    multiply_code_block<L, W, Rows, panels>(t, {.row = row, .panel = panel});
  for (; panel < t.panels; ++panel)
    multiply_code_block<L, W, Rows, 1>(t, {.row = row, .panel = panel});
}

/// Many rows take few panels at a time, whose terms stay in the first cache.
template <class L, class W>
void multiply_code_tile(const matmul_tile& t) {
  using function = void (*)(const matmul_tile&, std::int64_t);
  constexpr function by_rows[] = {multiply_code_rows<L, W, 1>, multiply_code_rows<L, W, 2>,
                                  multiply_code_rows<L, W, 3>, multiply_code_rows<L, W, 4>};
  const std::int64_t panels = t.rows > code_rows_max ? L::code_panels_for(2) : t.panels;
  matmul_tile part = t;
  for (std::int64_t panel = 0; panel < t.panels; panel += panels) {
    part.panels = t.panels - panel < panels ? t.panels - panel : panels;
    part.weights = t.weights + panel * t.panel_bytes;
    part.sums = t.sums + panel * panel_width;
    in_even_blocks<code_rows_max>(
        t.rows, [&](std::int64_t row, std::int64_t rows) { by_rows[rows - 1](part, row); });
  }
}

/// Quantises one row; the contract is in kernels.hpp, the judge plain_matmul.cpp.
template <class L>
void fast_quantise(std::byte* to, const_elements x, const row_groups& groups) {
  with_activation(x.type, [&](auto tag) {
    const auto* from = static_cast<const decltype(tag)*>(x.data);
    for (std::int64_t left = groups.width; left > 0; left -= groups.columns) {
      const std::int64_t count = left < groups.columns ? left : groups.columns;
      L most = L::zero();
      L odd = L::zero();  // becomes NaN when a value is not finite
      in_blocks<L>(count, [&](std::int64_t i, auto lanes) {
        const L value = L::load(from + i, lanes);
        most = L::max_of(most, value.magnitude());
        odd = L::fma(value, L::zero(), odd);
      });
      const bool finite = odd.sum() == 0;
      code_group group{.scale = finite ? most.largest() / 127.0f : __builtin_nanf(""), .sum = 0};
      std::byte* const codes = to + code_group_bytes;
      __builtin_memset(codes, 0, static_cast<std::size_t>(groups.columns));
      if (group.scale > 0) {
        const L shift = L::all(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
        L sum = L::zero();
        in_blocks<L>(count, [&](std::int64_t i, auto lanes) {
          const L near = L::load(from + i, lanes) / L::all(group.scale) + shift;
          const L whole = L::max_of(L::all(-127.0f), L::min_of(L::all(127.0f), near - shift));
          whole.store_codes(codes + i);
          sum = sum + whole;
        });
        group.sum = static_cast<std::int32_t>(sum.sum());
      }
      __builtin_memcpy(to, &group, sizeof group);
      to = codes + groups.columns;
      from += groups.columns;
    }
  });
}

}  // namespace glimmer
