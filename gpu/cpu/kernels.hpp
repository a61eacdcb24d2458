#pragma once

#include <cstdint>

#include "gpu/cpu/elements.hpp"
#include "gpu/ops.hpp"

namespace glimmer {

// What one version of the arithmetic (plain, AVX2, AVX-512) has to give: straight loops over host
// memory, without threads, allocation or knowledge of block tables. Every version gives the bits
// of the plain one; the order of each reduction is part of the contract stated here.

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
struct matmul_tile {
  const std::byte* x = nullptr;  ///< rows from k = 0 on: f32, or quantised; see code_columns
  std::int64_t x_stride = 0;     ///< bytes from one row to the next
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

/// Keys or values of one head in one tile, wherever their blocks lie.
struct tile_rows {
  const void* const* row = nullptr;  ///< [key_tile], each [head_dim]; null where no key is needed
  dtype type = dtype::bf16;
  std::int64_t head_dim = 0;
  std::int64_t stride = 0;  ///< head_dim rounded up to 16
};

/// One tile for several query heads of one row. With s_j = (q . k_j) * scale, the dot product one
/// chain over the components, for begin <= j < end:
///   tile: m = max s_j;  p_j = exp(s_j - m);  l = sum p_j in 16 lanes;  o = sum p_j v_j in order
///   merge: M' = max(M, m);  L = L exp(M - M') + l exp(m - M');  O likewise;  M = M'
/// A tile's share does not depend on what came before it; tiles are merged left to right.
struct tile_queries {
  const float* q = nullptr;  ///< [count, stride]
  std::int64_t count = 0;
  std::int64_t head_dim = 0;
  std::int64_t stride = 0;
  const float* keys = nullptr;    ///< [head_dim, key_tile], from load_keys
  const float* values = nullptr;  ///< [key_tile, stride], from load_values
  std::int64_t begin = 0;         ///< keys that the row sees in this tile, begin < end
  std::int64_t end = 0;
  float scale = 1;
  float* best = nullptr;    ///< [count] M, starts at -infinity
  float* total = nullptr;   ///< [count] L, starts at 0
  float* output = nullptr;  ///< [count, stride] O, starts at 0
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

  /// keys [head_dim, key_tile] = transpose of the rows; zeros where a row is null.
  void (*load_keys)(float* keys, const tile_rows& rows);
  /// values [key_tile, stride]; zeros where a row is null and beyond head_dim.
  void (*load_values)(float* values, const tile_rows& rows);
  void (*attend)(const tile_queries& queries);
};

const cpu_kernels& plain_kernels();
const cpu_kernels& avx2_kernels();
const cpu_kernels& avx512_kernels();

}  // namespace glimmer
