#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "gpu/cpu/fast_math.hpp"
#include "gpu/cpu/kernels.hpp"
#include "gpu/cpu/row_blocks.hpp"
#include "gpu/cpu/weight_streams.hpp"

namespace glimmer {

// Products of codes: i8, i4_pair and f4_pair weights times activations that are quantised in the
// same groups of columns. A group's sum is a whole number and exact, whatever the order; only the
// chain over the groups rounds. Codes of f4_pair are doubled, and their scales halved.

/// Formats whose products quantise the activations as well.
template <class W>
inline constexpr bool has_codes =
    std::is_same_v<W, i8> || std::is_same_v<W, i4_pair> || std::is_same_v<W, f4_pair>;

/// Where groups lie: columns, bytes of a panel's block and of the scales that it begins with.
template <class W>
struct code_layout;
template <>
struct code_layout<i8> {
  static constexpr std::int64_t columns = i8_block;
  static constexpr std::int64_t block = i8_block_bytes;
  static constexpr std::int64_t scales = 2 * panel_width;
};
template <>
struct code_layout<i4_pair> {
  static constexpr std::int64_t columns = i4_block;
  static constexpr std::int64_t block = i4_block_bytes;
  static constexpr std::int64_t scales = 2 * panel_width;
};
template <>
struct code_layout<f4_pair> {
  static constexpr std::int64_t columns = f4_block;
  static constexpr std::int64_t block = f4_block_bytes;
  static constexpr std::int64_t scales = panel_width;
};
/// Bytes of a group of a row.
template <class W>
inline constexpr std::int64_t row_group_bytes = code_group_bytes + code_layout<W>::columns;

/// Four bytes of 16 outputs, or sums of their products.
template <class L>
using codes_of = typename L::bytes::codes;

/// Where the sums of a group begin: at what the offset of its codes will make too much.
template <class L, class W>
[[gnu::always_inline]] inline auto first_sums(const std::byte* x) {
  using bytes = typename L::bytes;
  if constexpr (bytes::offset(W{}) == 0) {
    return bytes::none();
  } else {
    return bytes::times(bytes::all(x + __builtin_offsetof(code_group, sums)), -bytes::offset(W{}));
  }
}

/// The 16 scales that a panel's block begins with.
template <class L, class W>
[[gnu::always_inline]] inline L load_scales(const std::byte* block) {
  if constexpr (std::is_same_v<W, f4_pair>) {
    return L::f8_sizes(block) * L::all(0x1p119f);  // half of what is missing there
  } else {
    return L::load(reinterpret_cast<const bf16*>(block), all_lanes{});
  }
}

/// Adds four columns, `quad` of a group: codes hold four neighbours of 16 outputs. Where two
/// codes share a byte only the lower (even quads) or the upper halves.
template <class L, class W, bool Odd, int Rows, int Panels>
[[gnu::always_inline]] inline void add_quad(codes_of<L> (&sums)[Rows][Panels],
                                            const std::byte* const (&x)[Rows],
                                            const std::byte* const (&panel)[Panels],
                                            std::int64_t quad) {
  codes_of<L> w[Panels];
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p) {
    const std::byte* const codes = panel[p] + code_layout<W>::scales;
    if constexpr (std::is_same_v<W, i8>) {
      w[p] = L::bytes::load(W{}, codes + quad * 64);
    } else if constexpr (Odd) {
      w[p] = L::bytes::high(W{}, codes + quad / 2 * 64);
    } else {
      w[p] = L::bytes::low(W{}, codes + quad / 2 * 64);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    const auto four = L::bytes::all(x[r] + code_group_bytes + 4 * quad);
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) L::bytes::add_products(W{}, sums[r][p], w[p], four);
  }
}

/// out[r][p] = fma(sum of codes, scale of w * scale of x, out[r][p])
template <class L, class W, int Rows, int Panels>
[[gnu::always_inline]] inline void add_group(float* const (&out)[Rows],
                                             const codes_of<L> (&sums)[Rows][Panels],
                                             const std::byte* const (&x)[Rows],
                                             const std::byte* const (&panel)[Panels]) {
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p) {
    const L scale_of_w = load_scales<L, W>(panel[p]);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      float scale_of_x;
      __builtin_memcpy(&scale_of_x, x[r] + __builtin_offsetof(code_group, scale), sizeof(float));
      float* const to = out[r] + p * panel_width;
      const L sum = L::load(to, all_lanes{});
      L::fma(L::of_numbers(L::bytes::numbers(W{}, sums[r][p])), scale_of_w * L::all(scale_of_x),
             sum)
          .store(to, all_lanes{});
    }
  }
}

/// Some panels' products with a whole group of columns; their sums begin at `first`. Weights so far
/// `ahead` are asked for.
template <class L, class W, int Rows, int Panels>
[[gnu::always_inline]] inline void multiply_group(float* const (&out)[Rows],
                                                  const codes_of<L> (&first)[Rows],
                                                  const std::byte* const (&x)[Rows],
                                                  const std::byte* const (&panel)[Panels],
                                                  std::int64_t ahead) {
  constexpr bool bytes = std::is_same_v<W, i8>;
  codes_of<L> sums[Rows][Panels];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) sums[r][p] = first[r];
  const auto add_two = [&](std::int64_t quad) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) {
      const std::byte* const line = panel[p] + quad * (bytes ? 64 : 32) + ahead;
      fetch(line);
      if constexpr (bytes) fetch(line + 64);
    }
    add_quad<L, W, false>(sums, x, panel, quad);
    add_quad<L, W, true>(sums, x, panel, quad + 1);
  };
  constexpr std::int64_t quads = code_layout<W>::columns / 4;
  if constexpr (L::bytes::whole_groups) {
#pragma GCC unroll 8
    for (std::int64_t quad = 0; quad < quads; quad += 2) add_two(quad);
  } else {
#pragma GCC unroll 1
    for (std::int64_t quad = 0; quad < quads; quad += 2) add_two(quad);
  }
  add_group<L, W>(out, sums, x, panel);
}

template <class L, class W, int Rows, int Panels>
void multiply_code_block(const matmul_tile& t, block_corner at) {
  using layout = code_layout<W>;
  const std::int64_t begin = t.k_begin / layout::columns;
  const std::int64_t ahead = fetch_distance(t, Panels);
  const std::byte* x[Rows];
  float* out[Rows];
  const std::byte* panel[Panels];
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p)
    panel[p] = t.weights + (at.panel + p) * t.panel_bytes + begin * layout::block;
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    x[r] = t.x + (at.row + r) * t.x_stride + begin * row_group_bytes<W>;
    out[r] = t.sums + (at.row + r) * t.sums_stride + at.panel * panel_width;
  }
  for (std::int64_t k = t.k_begin; k < t.k_end; k += layout::columns) {
    codes_of<L> first[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) first[r] = first_sums<L, W>(x[r]);
    if constexpr (std::is_same_v<W, f4_pair>) {
      // So few columns fill the registers already; several panels are as many streams to read.
#pragma GCC unroll 8
      for (int p = 0; p < Panels; ++p) {
        float* to[Rows];
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) to[r] = out[r] + p * panel_width;
        multiply_group<L, W, Rows, 1>(to, first, x, {panel[p]}, ahead);
      }
    } else {
      multiply_group<L, W>(out, first, x, panel, ahead);
    }
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) panel[p] += layout::block;
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) x[r] += row_group_bytes<W>;
  }
}

/// All panels of the tile for `Rows` rows from `row` on: several at once, then one by one.
template <class L, class W, int Rows>
void multiply_code_rows(const matmul_tile& t, std::int64_t row) {
  constexpr int panels = L::bytes::panels_for(Rows);
  std::int64_t panel = 0;
  for (; panel + panels <= t.panels; panel += panels)
    multiply_code_block<L, W, Rows, panels>(t, {.row = row, .panel = panel});
  for (; panel < t.panels; ++panel)
    multiply_code_block<L, W, Rows, 1>(t, {.row = row, .panel = panel});
}

/// All rows, in blocks of as many as there are functions.
template <class L, class W, int... Before>
void multiply_code_panels(const matmul_tile& t, std::integer_sequence<int, Before...>) {
  using function = void (*)(const matmul_tile&, std::int64_t);
  constexpr function by_rows[] = {multiply_code_rows<L, W, Before + 1>...};
  in_even_blocks<sizeof...(Before)>(
      t.rows, [&](std::int64_t row, std::int64_t rows) { by_rows[rows - 1](t, row); });
}

/// Many rows take few panels at a time, whose terms stay in the first cache.
template <class L, class W>
void multiply_code_tile(const matmul_tile& t) {
  constexpr int rows_max = L::bytes::rows_max;
  const std::int64_t panels = t.rows > rows_max ? L::bytes::panels_for(2) : t.panels;
  matmul_tile part = t;
  for (std::int64_t panel = 0; panel < t.panels; panel += panels) {
    part.panels = t.panels - panel < panels ? t.panels - panel : panels;
    part.weights = t.weights + panel * t.panel_bytes;
    part.sums = t.sums + panel * panel_width;
    multiply_code_panels<L, W>(part, std::make_integer_sequence<int, rows_max>{});
  }
}

/// 1 for columns 0 and 1 of every four.
inline constexpr float first_of_fours[panel_width] = {1, 1, 0, 0, 1, 1, 0, 0,
                                                      1, 1, 0, 0, 1, 1, 0, 0};

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
      code_group group{.scale = finite ? most.largest() / 127.0f : __builtin_nanf(""), .sums = {}};
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
        const float first = (sum * L::load(first_of_fours, all_lanes{})).sum();
        group.sums[0] = static_cast<std::int16_t>(first);
        group.sums[1] = static_cast<std::int16_t>(sum.sum() - first);
      }
      __builtin_memcpy(to, &group, sizeof group);
      to = codes + groups.columns;
      from += groups.columns;
    }
  });
}

}  // namespace glimmer
