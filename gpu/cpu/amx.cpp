// Compiled for AMX and AVX-512 with VNNI; nothing here may run before the processor is known to
// have them and the system has granted the tiles, and no function may be shared with the rest of
// the program.
#include "gpu/cpu/amx_attention.hpp"
#include "gpu/cpu/bytes_vnni.hpp"
#include "gpu/cpu/pair_vectors.hpp"
#include "gpu/cpu/tile_registers.hpp"
#include "gpu/cpu/weight_streams.hpp"

namespace glimmer {

namespace {

// A tile register holds 16 rows of 64 bytes; a product of tiles adds 16 rows times 16 outputs over
// as many columns as 64 bytes hold. Panels have the layout of its second operand as they are: 16
// outputs of a pair or of four columns are 64 bytes.
//
// Registers 0 to 3 hold sums, 4 and 5 rows, 6 and 7 weights. 0, 1 and 4 have as many rows as each
// other, and so have 2, 3 and 5.

struct bytes_amx : bytes_vnni {
  static constexpr const char* name = "amx";
};
using lanes = lanes_avx512<bytes_amx>;

/// Up to so many rows wait for weights rather than for one another.
constexpr std::int64_t rows_of_streams = 2 * tile_rows_max;

// bf16 -------------------------------------------------------------------------------------------

/// Tiles of rows times panels; four sums at most. With one tile of rows sums are numbered by panel,
/// with two 0 and 1 are those of the first.
struct pair_block {
  const std::byte* x[2];
  std::int64_t x_stride;
  const std::byte* weights[4];
  float* sums[4];
  std::int64_t sums_stride;  ///< in bytes
  std::int64_t steps;        ///< tiles along the columns
  std::int64_t step_bytes;   ///< of a row in each
  bool fetches;              ///< whether what follows in each panel is to be asked for
};

template <int... Sums>
void load_sums(const pair_block& b, std::integer_sequence<int, Sums...>) {
  (load_tile<Sums>(b.sums[Sums], b.sums_stride), ...);
}

template <int... Sums>
void store_sums(const pair_block& b, std::integer_sequence<int, Sums...>) {
  (store_tile<Sums>(b.sums[Sums], b.sums_stride), ...);
}

/// Up to 32 rows times two panels.
void multiply_tall(const pair_block& b) {
  load_sums(b, std::make_integer_sequence<int, 4>{});
  for (std::int64_t step = 0; step < b.steps; ++step) {
    const std::int64_t x = step * b.step_bytes;
    const std::int64_t w = step * tile_bytes;
    if (b.fetches)
      for (int p = 0; p < 2; ++p) fetch_lines(b.weights[p] + w + stream_ahead, tile_bytes);
    load_tile<4>(b.x[0] + x, b.x_stride);
    load_tile<6>(b.weights[0] + w, tile_row_bytes);
    add_pair_products<0, 4, 6>();
    load_tile<7>(b.weights[1] + w, tile_row_bytes);
    add_pair_products<1, 4, 7>();
    load_tile<5>(b.x[1] + x, b.x_stride);
    add_pair_products<2, 5, 6>();
    add_pair_products<3, 5, 7>();
  }
  store_sums(b, std::make_integer_sequence<int, 4>{});
}

/// Up to 16 rows times some panels: as many streams of weights.
template <int... Panels>
void multiply_wide(const pair_block& b, std::integer_sequence<int, Panels...> panels) {
  load_sums(b, panels);
  for (std::int64_t step = 0; step < b.steps; ++step) {
    const std::int64_t w = step * tile_bytes;
    load_tile<4>(b.x[0] + step * b.step_bytes, b.x_stride);
    (
        [&] {
          const std::byte* const weights = b.weights[Panels] + w;
          if (b.fetches) fetch_lines(weights + stream_ahead, tile_bytes);
          load_tile<6 + Panels % 2>(weights, tile_row_bytes);
          add_pair_products<Panels, 4, 6 + Panels % 2>();
        }(),
        ...);
  }
  store_sums(b, panels);
}

/// Terms `range`, whole steps or part of one, of up to 16 rows and any panels, or up to 32 and two.
void multiply_pairs(tile_registers& registers, const matmul_tile& t, std::int64_t row,
                    k_range range) {
  constexpr std::int64_t pair_bytes = 4;
  const std::int64_t step = range.end - range.begin < 32 ? range.end - range.begin : 32;
  const std::int64_t rows = t.rows - row < tile_rows_max ? t.rows - row : tile_rows_max;
  const std::int64_t row_bytes = (step + 1) / 2 * pair_bytes;
  pair_block b{.x = {},
               .x_stride = t.x_stride,
               .weights = {},
               .sums = {},
               .sums_stride = t.sums_stride * static_cast<std::int64_t>(sizeof(float)),
               .steps = (range.end - range.begin) / step,
               .step_bytes = row_bytes,
               .fetches = t.rows <= rows_of_streams};
  b.x[0] = t.x + row * t.x_stride + range.begin * 2;
  b.x[1] = b.x[0] + rows * t.x_stride;
  for (int p = 0; p < 4; ++p) {
    b.weights[p] = t.weights + p * t.panel_bytes + range.begin / 2 * tile_row_bytes;
    b.sums[p] = t.sums + row * t.sums_stride + p * panel_width;
  }
  const std::int64_t left = t.rows - row - rows;
  const std::int64_t more_rows = left < tile_rows_max ? left : tile_rows_max;
  if (more_rows > 0 && t.panels == 2) {
    registers.shape({.rows = rows, .more_rows = more_rows, .row_bytes = row_bytes});
    for (int p = 0; p < 2; ++p) b.sums[2 + p] = b.sums[p] + rows * t.sums_stride;
    return multiply_tall(b);
  }
  registers.shape({.rows = rows, .more_rows = rows, .row_bytes = row_bytes});
  switch (t.panels) {
    case 1: return multiply_wide(b, std::make_integer_sequence<int, 1>{});
    case 2: return multiply_wide(b, std::make_integer_sequence<int, 2>{});
    case 3: return multiply_wide(b, std::make_integer_sequence<int, 3>{});
    default: return multiply_wide(b, std::make_integer_sequence<int, 4>{});
  }
}

void multiply_bf16(const matmul_tile& t) {
  tile_registers registers;
  const bool tall = t.rows > tile_rows_max;
  const std::int64_t panels_at_once = tall ? 2 : 4;
  const std::int64_t whole = t.k_begin + (t.k_end - t.k_begin) / 32 * 32;
  matmul_tile part = t;
  for (std::int64_t panel = 0; panel < t.panels; panel += panels_at_once) {
    const std::int64_t left = t.panels - panel;
    part.panels = left < panels_at_once ? left : panels_at_once;
    part.weights = t.weights + panel * t.panel_bytes;
    part.sums = t.sums + panel * panel_width;
    const std::int64_t rows_at_once = part.panels == 2 && tall ? 2 * tile_rows_max : tile_rows_max;
    for (const k_range range : {k_range{t.k_begin, whole}, k_range{whole, t.k_end}}) {
      if (range.begin == range.end) continue;
      for (std::int64_t row = 0; row < t.rows; row += rows_at_once)
        multiply_pairs(registers, part, row, range);
    }
  }
}

// FP8 --------------------------------------------------------------------------------------------

/// A block of columns of a panel in 256ths, as a bf16 panel has them, and its scale.
struct alignas(64) wide_block {
  bf16 weights[f8_block * panel_width];
  float scale;
};

/// Codes are asked for so far ahead: one panel at a time is too few streams.
constexpr std::int64_t codes_ahead = 8192;

std::int64_t block_columns(const matmul_tile& t, std::int64_t k) {
  return t.k_end - k < f8_block ? t.k_end - k : f8_block;
}

/// The block from column `k` on of a panel; zeros fill its last tile.
void widen_block(wide_block& to, const matmul_tile& t, const std::byte* panel, std::int64_t k) {
  constexpr std::int64_t at_once = 32;
  const std::int64_t columns = block_columns(t, k);
  const std::int64_t count = (columns + columns % 2) * panel_width;
  const std::byte* const codes = panel + k * panel_width;
  for (std::int64_t i = 0; i < count; i += at_once) {
    if (i % 64 == 0) __builtin_prefetch(codes + i + codes_ahead);
    _mm512_store_si512(
        to.weights + i,
        bf16_of_f8<-8>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + i))));
  }
  const std::int64_t end = (columns + 31) / 32 * 32 * panel_width;
  for (std::int64_t i = count; i < end; i += at_once)
    _mm512_store_si512(to.weights + i, _mm512_setzero_si512());
  __builtin_memcpy(&to.scale, panel + t.scales_offset + k / f8_block * 4, sizeof to.scale);
}

/// Some rows times a block: what is added to their sums but for its scale.
struct alignas(64) block_sums {
  float o[tile_rows_max][panel_width];
};

/// Even and odd tiles of rows have registers of their own.
template <bool Odd>
void multiply_block(const matmul_tile& t, const std::byte* x, const wide_block& w,
                    std::int64_t steps, block_sums& to) {
  constexpr int sums = Odd ? 1 : 0;
  clear_tile<sums>();
  for (std::int64_t step = 0; step < steps; ++step) {
    load_tile<4 + sums>(x + step * tile_row_bytes, t.x_stride);
    load_tile<6 + sums>(w.weights + step * 32 * panel_width, tile_row_bytes);
    add_pair_products<sums, 4 + sums, 6 + sums>();
  }
  store_tile<sums>(to.o, tile_row_bytes);
}

void add_block(const matmul_tile& t, row_range rows, float scale, const block_sums& from,
               float* sums) {
  for (std::int64_t r = 0; r < rows.count; ++r) {
    float* const to = sums + (rows.begin + r) * t.sums_stride;
    lanes::fma(lanes::load(from.o[r], all_lanes{}), lanes::all(scale * 256),
               lanes::load(to, all_lanes{}))
        .store(to, all_lanes{});
  }
}

/// Rows times a block of columns from `k` on of one panel.
void multiply_f8_block(tile_registers& registers, const matmul_tile& t, const wide_block& w,
                       std::int64_t k, float* sums) {
  const std::int64_t steps = (block_columns(t, k) + 31) / 32;
  const std::byte* const x = t.x + k * static_cast<std::int64_t>(sizeof(bf16));
  block_sums even;
  block_sums odd;
  bool is_odd = false;
  in_even_blocks<tile_rows_max>(t.rows, [&](std::int64_t row, std::int64_t count) {
    registers.shape({.rows = count, .more_rows = count, .row_bytes = tile_row_bytes});
    block_sums& block = is_odd ? odd : even;
    const auto multiply = is_odd ? multiply_block<true> : multiply_block<false>;
    multiply(t, x + row * t.x_stride, w, steps, block);
    add_block(t, {.begin = row, .count = count}, w.scale, block, sums);
    is_odd = !is_odd;
  });
}

/// A block of columns is widened once for all rows, and before the one in front of it is used: a
/// tile waits for what is on its way to memory.
void multiply_f8(const matmul_tile& t) {
  tile_registers registers;
  wide_block wide[2];
  for (std::int64_t panel = 0; panel < t.panels; ++panel) {
    const std::byte* const codes = t.weights + panel * t.panel_bytes;
    float* const sums = t.sums + panel * panel_width;
    int now = 0;
    widen_block(wide[now], t, codes, t.k_begin);
    for (std::int64_t k = t.k_begin; k < t.k_end; k += f8_block, now = 1 - now) {
      if (k + f8_block < t.k_end) widen_block(wide[1 - now], t, codes, k + f8_block);
      before_tiles_load();
      multiply_f8_block(registers, t, wide[now], k, sums);
    }
  }
}

// Codes ------------------------------------------------------------------------------------------

/// Columns whose codes are unpacked at a time.
constexpr std::int64_t columns_at_once = 512;

/// Signed bytes of a panel's codes, as a tile takes them.
struct alignas(64) panel_codes {
  std::byte bytes[columns_at_once * panel_width];
};

/// What codes of four bits stand for; E2M1 doubled.
__m512i signed_codes(i4_pair, __m512i halves) {
  return _mm512_sub_epi8(halves, _mm512_set1_epi8(8));
}
__m512i signed_codes(f4_pair, __m512i halves) {
  const __m512i table = _mm512_broadcast_i32x4(
      _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12));
  return _mm512_shuffle_epi8(table, halves);
}

/// Unpacks groups of a panel, and asks for those at `next`.
template <class W>
void unpack(panel_codes& to, const std::byte* block, const std::byte* next, std::int64_t groups) {
  using layout = code_layout<W>;
  std::byte* at = to.bytes;
  for (std::int64_t group = 0; group < groups; ++group, block += layout::block) {
    const std::byte* const codes = block + layout::scales;
    fetch_lines(next + group * layout::block, layout::block);
    for (std::int64_t i = 0; i < layout::columns / 8; ++i, at += 2 * tile_row_bytes) {
      const auto* const pairs = codes + i * tile_row_bytes;
      const __m512i low = codes_avx512::low(i4_pair{}, pairs);
      const __m512i high = codes_avx512::high(i4_pair{}, pairs);
      _mm512_store_si512(at, signed_codes(W{}, low));
      _mm512_store_si512(at + tile_row_bytes, signed_codes(W{}, high));
    }
  }
}

/// Some groups of one panel times some rows.
struct code_block {
  const std::byte* x = nullptr;  ///< first group of the first row
  std::int64_t x_stride = 0;
  const std::byte* codes = nullptr;  ///< signed bytes of the first group
  std::int64_t codes_stride = 0;     ///< from group to group
  const std::byte* scales = nullptr;
  const std::byte* next = nullptr;  ///< what is wanted after these, if it is still to be asked for
  std::int64_t groups = 0;
  float* sums = nullptr;
  std::int64_t sums_stride = 0;
};

/// Sums of a group's products, by row and output.
struct alignas(64) code_sums {
  std::int32_t number[tile_rows_max][panel_width];
};

/// Multiplies a group; even and odd ones have registers of their own.
template <class W, bool Odd>
[[gnu::always_inline]] inline void multiply_codes(const code_block& b, std::int64_t group,
                                                  code_sums& to) {
  const std::byte* const x = b.x + group * row_group_bytes<W> + code_group_bytes;
  const std::byte* const codes = b.codes + group * b.codes_stride;
  constexpr int sums = Odd ? 1 : 0;
  clear_tile<sums>();
  load_tile<4 + sums>(x, b.x_stride);
  if (b.next != nullptr) fetch_lines(b.next + group * code_layout<W>::block, code_layout<W>::block);
  load_tile<6 + sums>(codes, tile_row_bytes);
  add_byte_products<sums, 4 + sums, 6 + sums>();
  store_tile<sums>(to.number, tile_row_bytes);
}

template <class W, int Rows>
[[gnu::always_inline]] inline void add_codes(lanes (&sums)[Rows], const code_block& b,
                                             std::int64_t group, const code_sums& from) {
  const lanes scale_of_w = load_scales<lanes, W>(b.scales + group * code_layout<W>::block);
  const std::byte* const x = b.x + group * row_group_bytes<W>;
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    float scale_of_x;
    __builtin_memcpy(&scale_of_x, x + r * b.x_stride + __builtin_offsetof(code_group, scale),
                     sizeof(float));
    const lanes number = lanes::of_numbers(_mm512_load_si512(from.number[r]));
    sums[r] = lanes::fma(number, scale_of_w * lanes::all(scale_of_x), sums[r]);
  }
}

/// One group's products are on their way while the scales of the one before are applied.
template <class W, int Rows>
void multiply_code_groups(const code_block& b) {
  code_sums even;
  code_sums odd;
  lanes sums[Rows];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) sums[r] = lanes::load(b.sums + r * b.sums_stride, all_lanes{});
  multiply_codes<W, false>(b, 0, even);
  std::int64_t group = 0;
  for (; group + 2 <= b.groups; group += 2) {
    multiply_codes<W, true>(b, group + 1, odd);
    add_codes<W>(sums, b, group, even);
    if (group + 2 < b.groups) multiply_codes<W, false>(b, group + 2, even);
    add_codes<W>(sums, b, group + 1, odd);
  }
  if (group < b.groups) add_codes<W>(sums, b, group, even);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) sums[r].store(b.sums + r * b.sums_stride, all_lanes{});
}

/// Up to 16 rows at a time times one panel.
template <class W, int... Before>
void multiply_code_panel(tile_registers& registers, code_block b, std::int64_t rows,
                         std::integer_sequence<int, Before...>) {
  using function = void (*)(const code_block&);
  constexpr function by_rows[] = {multiply_code_groups<W, Before + 1>...};
  const code_block first = b;
  in_even_blocks<tile_rows_max>(rows, [&](std::int64_t row, std::int64_t count) {
    b.x = first.x + row * b.x_stride;
    b.sums = first.sums + row * b.sums_stride;
    registers.shape({.rows = count, .more_rows = count, .row_bytes = code_layout<W>::columns});
    by_rows[count - 1](b);
    b.next = nullptr;
  });
}

template <class W>
void multiply_codes(const matmul_tile& t) {
  using layout = code_layout<W>;
  tile_registers registers;
  panel_codes unpacked;
  for (std::int64_t k = t.k_begin; k < t.k_end; k += columns_at_once) {
    const std::int64_t columns = t.k_end - k < columns_at_once ? t.k_end - k : columns_at_once;
    const std::int64_t begin = k / layout::columns;
    code_block b{.x = t.x + begin * row_group_bytes<W>,
                 .x_stride = t.x_stride,
                 .codes_stride = layout::columns * panel_width,
                 .groups = (columns + layout::columns - 1) / layout::columns,
                 .sums_stride = t.sums_stride};
    for (std::int64_t panel = 0; panel < t.panels; ++panel) {
      b.scales = t.weights + panel * t.panel_bytes + begin * layout::block;
      b.sums = t.sums + panel * panel_width;
      const std::byte* const next = panel + 1 < t.panels
                                        ? b.scales + t.panel_bytes
                                        : t.weights + (begin + b.groups) * layout::block;
      if constexpr (std::is_same_v<W, i8>) {
        b.codes = b.scales + layout::scales;
        b.codes_stride = layout::block;
        b.next = next;
      } else {
        unpack<W>(unpacked, b.scales, next, b.groups);
        before_tiles_load();
        b.codes = unpacked.bytes;
      }
      multiply_code_panel<W>(registers, b, t.rows,
                             std::make_integer_sequence<int, tile_rows_max>{});
    }
  }
}

/// Fewer rows of codes than these are multiplied by vectors: the sums are the same.
constexpr std::int64_t code_rows_min = 9;

void multiply_in_pairs(const matmul_tile& tile) {
  if (tile.weight_type == dtype::bf16) return multiply_bf16(tile);
  tile.rows <= pair_rows_max ? multiply_few_pairs<lanes, f8>(tile) : multiply_f8(tile);
}

void amx_matmul(const matmul_tile& tile) {
  if (tile.x_type == dtype::bf16) return multiply_in_pairs(tile);
  if (tile.rows < code_rows_min) return fast_matmul<lanes>(tile);
  switch (tile.weight_type) {
    case dtype::i8: return multiply_codes<i8>(tile);
    case dtype::i4_pair: return multiply_codes<i4_pair>(tile);
    case dtype::f4_pair: return multiply_codes<f4_pair>(tile);
    default: return fast_matmul<lanes>(tile);
  }
}

constexpr cpu_kernels with_tiles(cpu_kernels kernels) {
  kernels.matmul = amx_matmul;
  kernels.multiplies_pairs = true;
  kernels.pairs = {.load_queries = amx_load_queries,
                   .load_keys = amx_load_keys<lanes>,
                   .load_values = amx_load_values<lanes>,
                   .attend = amx_attend<lanes>};
  kernels.rows_per_pass = 512;
  kernels.rows_of_streams = rows_of_streams;
  return kernels;
}

}  // namespace

const cpu_kernels& amx_kernels() {
  static constexpr cpu_kernels kernels = with_tiles(fast_kernels<lanes>);
  return kernels;
}

}  // namespace glimmer
