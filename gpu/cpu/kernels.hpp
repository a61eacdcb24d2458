#pragma once

#include <cstdint>
#include <span>

#include "gpu/cpu/elements.hpp"
#include "gpu/ops.hpp"

namespace glimmer {

// What one version of the arithmetic (plain, AVX2, AVX-512 and more) has to give: straight loops
// over host memory, without threads, allocation or knowledge of block tables. Every version gives
// the bits of the plain one; the order of each reduction is part of the contract stated here.

/// Outputs that one panel of packed weights serves.
inline constexpr std::int64_t panel_width = 16;
/// Bytes of one block of an f4_pair panel: 16 f8 scales, then codes.
inline constexpr std::int64_t f4_block_bytes = panel_width + f4_block / 2 * panel_width;
/// Bytes of one block of an i8 or i4_pair panel: 16 bf16 scales, then codes.
inline constexpr std::int64_t i8_block_bytes = panel_width * 2 + i8_block * panel_width;
inline constexpr std::int64_t i4_block_bytes = panel_width * 2 + i4_block / 2 * panel_width;
/// Panels that one call of `matmul` may take.
inline constexpr std::int64_t panels_max = 4;
/// Keys of one attention tile. Tiles start at multiples of it in absolute positions.
inline constexpr std::int64_t key_tile = 64;

/// Scale of a norm: r = 1 / sqrt(sum(x^2) / width + eps); the sum in 16 lanes.
struct norm_row {
  std::int64_t width = 0;
  const float* weight = nullptr;  ///< [width]; null for weightless
  norm_kind kind = norm_kind::weightless;
  float eps = 0;
};

/// One head of q or k: norm, rounding, scale, weight, rotation, rounding.
struct head_row {
  std::int64_t head_dim = 0;
  float eps = 0;
  float scale = 1;
  const float* weight = nullptr;   ///< [head_dim]; null for weightless
  const float* cosines = nullptr;  ///< [head_dim / 2]; null for no rotation
  const float* sines = nullptr;
};

/// How a row of activations is cut into groups that share a scale.
struct row_groups {
  std::int64_t width = 0;
  std::int64_t columns = 0;  ///< of a group; the last may have fewer
};

/// What stands before each group's codes, one byte a column, in a quantised row. Zeros pad the last
/// group.
struct code_group {
  float scale = 0;
  std::int16_t sums[2] = {};  ///< of the codes in columns 0 and 1 of every four, and in 2 and 3
};
inline constexpr std::int64_t code_group_bytes = sizeof(code_group);

/// sums[row, panel * 16 + lane] = fma(x[row, k], w[panel, k, lane], sums...) for k in order: one
/// chain of fused multiply-adds per output, continued from call to call. For f4_pair, i8 and
/// i4_pair it is a chain over the groups of columns; see `packed_matrix`. What an f4_pair matrix
/// multiplies and divides its sums by is left to the caller.
///
/// bf16 rows times bf16 weights are summed in pairs of columns, 32 at a time, with e and o from 0:
///     e = fma(x[row, k], w[panel, k, lane], e) for even k in order, and o likewise for odd k
///     sums[row, panel * 16 + lane] += e + o
/// and there whatever is smaller than 2^-126, operand or result, counts as zero. Of f8_e4m3 weights
/// each block of 128 columns is summed so, from 0 and in 256ths, and then added: see
/// `packed_matrix`.
struct matmul_tile {
  const std::byte* x = nullptr;  ///< rows from k = 0 on: f32, bf16, or quantised; see code_columns
  dtype x_type = dtype::f32;  ///< of rows that are not quantised; bf16 is padded with zeros to 32
  std::int64_t x_stride = 0;  ///< bytes from one row to the next
  std::int64_t rows = 0;
  const std::byte* weights = nullptr;  ///< first panel, see packing.hpp
  std::int64_t panel_bytes = 0;        ///< from one panel to the next
  std::int64_t panels = 0;             ///< 1 .. panels_max
  dtype weight_type = dtype::bf16;
  std::int64_t scales_offset = 0;  ///< f8_e4m3: bytes from a panel's begin to its f32 scales
  std::int64_t k_begin = 0;        ///< a multiple of 128
  std::int64_t k_end = 0;
  float* sums = nullptr;  ///< [rows, sums_stride], 64-byte aligned rows
  std::int64_t sums_stride = 0;
};

/// Rows that are wanted next. Kernels ask for them between their sums, a few at a time: all at once
/// they would hold them up.
struct rows_ahead {
  std::span<const void* const> row;  ///< null where none is wanted
  std::int64_t bytes = 0;            ///< of each
  std::size_t asked = 0;             ///< rows that are on their way
};

/// Keys or values of one head in one tile, wherever their blocks lie.
struct tile_rows {
  const void* const* row = nullptr;  ///< [key_tile], each [head_dim]; null where no key is needed
  dtype type = dtype::bf16;
  std::int64_t head_dim = 0;
  std::int64_t stride = 0;  ///< head_dim rounded up to 16
  rows_ahead* ahead = nullptr;
};

/// Queries, and keys, that lie together in pairs; components of a head in whole steps of a sum.
inline constexpr std::int64_t pair_queries_width = 16;
inline constexpr std::int64_t pair_keys_width = 16;
constexpr std::int64_t pair_depth(std::int64_t head_dim) {
  return (head_dim + 31) / 32 * 32;
}

/// Where the keys of a tile lie, each [depth] of bf16: in scratch memory or in the cache itself.
struct pair_keys {
  struct group {
    const std::byte* first = nullptr;
    std::int64_t stride = 0;  ///< bytes from key to key
  };
  group groups[key_tile / pair_keys_width];
};

/// One tile for several query heads of one row. With s_j = (q . k_j) * scale, the dot product one
/// chain over the components, for begin <= j < end:
///   tile: m = max s_j;  p_j = exp(s_j - m);  l = sum p_j in 16 lanes;  o = sum p_j v_j in order
///   merge: M' = max(M, m);  L = L exp(M - M') + l exp(m - M');  O likewise;  M = M'
/// A tile's share does not depend on what came before it; tiles are merged left to right.
///
/// bf16 queries over bf16 or f8 keys may be taken in pairs, as `matmul_tile` sums them: q . k_j by
/// 32 components, and o by 32 keys, twice each: with h_j = bf16(p_j), then with bf16(p_j - h_j).
template <class T, class Keys>
struct tile_queries_of {
  const T* q = nullptr;  ///< [count, stride]; bf16 as from load_queries
  std::int64_t count = 0;
  std::int64_t head_dim = 0;
  std::int64_t stride = 0;
  Keys keys{};                ///< [head_dim, key_tile], or as from load_keys of pairs
  const T* values = nullptr;  ///< [key_tile, stride], or bf16 as from load_values
  std::int64_t begin = 0;     ///< keys that the row sees in this tile, begin < end
  std::int64_t end = 0;
  float scale = 1;
  float* best = nullptr;    ///< [count] M, starts at -infinity
  float* total = nullptr;   ///< [count] L, starts at 0
  float* output = nullptr;  ///< [count, stride] O, starts at 0
  rows_ahead* ahead = nullptr;
};
using tile_queries = tile_queries_of<float, const float*>;
using pair_queries = tile_queries_of<bf16, pair_keys>;

/// Attention in pairs; null in versions that have none. Zeros stand where a row is null and beyond
/// head_dim.
struct pair_kernels {
  /// q [depth / 2, 16, 2] of 16 rows of bf16.
  void (*load_queries)(bf16* q, const tile_rows& rows) = nullptr;
  /// Rows of bf16 or f8, brought to `scratch` [key_tile, depth] where they cannot be used as they
  /// lie.
  pair_keys (*load_keys)(bf16* scratch, const tile_rows& rows) = nullptr;
  /// values [key_tile / 2, stride, 2].
  void (*load_values)(bf16* values, const tile_rows& rows) = nullptr;
  void (*attend)(const pair_queries& queries) = nullptr;
};

struct cpu_kernels {
  const char* name;

  /// out = x with at most one rounding; out f32, bf16 or f8_e4m3, x f32, bf16 or f16.
  void (*convert)(elements out, const_elements x, std::int64_t count);
  /// out may be x.
  void (*norm)(elements out, const_elements x, const norm_row& row);
  void (*add)(elements h, const_elements u, std::int64_t count);
  void (*sigmoid_gate)(elements o, const_elements g, std::int64_t count);
  void (*silu_product)(elements gate, const_elements up, std::int64_t count);
  void (*cap)(float* z, std::int64_t count, const logit_cap& rule);
  void (*finish_head)(elements x, const head_row& row);
  /// out = x / divisor.
  void (*divide)(elements out, const float* x, std::int64_t count, float divisor);

  /// One row of f32 or bf16 as codes: a `code_group` and its codes for each group.
  void (*quantise)(std::byte* to, const_elements x, const row_groups& groups);
  void (*matmul)(const matmul_tile& tile);
  bool multiplies_pairs = false;     ///< takes bf16 rows for bf16 and f8 weights
  std::int64_t rows_per_pass = 256;  ///< that share one pass over the weights
  std::int64_t rows_of_streams = 4;  ///< up to which a panel's terms are read from end to end

  /// keys [head_dim, key_tile] = transpose of the rows; zeros where a row is null.
  void (*load_keys)(float* keys, const tile_rows& rows);
  /// values [key_tile, stride]; zeros where a row is null and beyond head_dim.
  void (*load_values)(float* values, const tile_rows& rows);
  void (*attend)(const tile_queries& queries);
  pair_kernels pairs{};
};

const cpu_kernels& plain_kernels();
/// The plain loops with sums in pairs: the judge of `amx_kernels`.
const cpu_kernels& plain_pair_kernels();
const cpu_kernels& avx2_kernels();
const cpu_kernels& avx512_kernels();
const cpu_kernels& avx512vnni_kernels();
const cpu_kernels& amx_kernels();

}  // namespace glimmer
