#pragma once

#include <cstdint>

#include "gpu/device.hpp"
#include "gpu/tensor.hpp"

namespace glimmer {

/// RMS norms: y = x * r * scale, r = 1 / sqrt(mean(x^2) + eps), in fp32
/// with one rounding. `plain`: scale = w; `centred`: scale = 1 + w, formed in fp32;
/// `weightless`: 1.
enum class norm_kind : std::uint8_t { plain, centred, weightless };

/// Extents of a weight matrix: `out` rows of `in` values.
struct matrix_extent {
  std::int64_t out = 0;
  std::int64_t in = 0;
};

/// A copy between blocks of one cache.
struct block_copy {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// What the weights of an `f4_pair` matrix are multiplied and then divided by. Published formats
/// store either the factor or its reciprocal; the other is 1 here.
struct scale_rule {
  float multiplier = 1;
  float divisor = 1;
};

/// Extents of the blocks that share a scale.
inline constexpr std::int64_t f8_block = 128;  ///< rows and columns of f8_e4m3
inline constexpr std::int64_t f4_block = 16;   ///< columns of f4_pair
inline constexpr std::int64_t i8_block = 64;   ///< columns of i8
inline constexpr std::int64_t i4_block = 32;   ///< columns of i4_pair

/// A weight matrix [out, in] in whatever layout the device's matmul streams. Made once at load by
/// `ops::pack`; `storage` is device memory owned by the weights. Quantised sources stay as small as
/// they are. Everything below is f32, and every operation is rounded once.
///
/// f8_e4m3 keeps activations as they are, and sums each block of 128 columns by itself:
///
///     block = fma(x, code / 256, block)                   column after column, from 0
///     sum   = fma(block, 256 * scale of the block, sum)   block after block, from 0
///
/// i8 and i4_pair are quantised by `pack` itself, row by row in groups of 64 and 32 columns. With
/// a = max |w| of a group and m the first w of that magnitude,
///
///     i8        scale = bf16(a / 127),  code = round(w / scale) in [-127, 127]
///     i4_pair   scale = bf16(m / -8),   code = round(w / scale) in [-8, 7]
///
/// (to nearest, ties to even). A group of zeros has scale 0; one that is not finite becomes NaN.
/// Error of normally distributed weights, relative RMS: 0.55 % and 8 %.
///
/// Products of i8, i4_pair and f4_pair quantise the activations as well, each row in the groups of
/// columns that the weights have (f4_pair: 16); the last may be shorter. With a = max |x| of a
/// group,
///
///     scale of x = a / 127,  code = round(x / scale) in [-127, 127]
///     sum = fma(float(sum of code of w * code of x), scale of w * scale of x, sum)
///
/// group after group, from 0. Sums of codes are whole numbers and exact: those of f4_pair are
/// doubled for it, and their scales, which are positive, halved; its sums are at last multiplied by
/// `multiplier` and divided by `divisor`. A scale of x that is 0 makes its codes 0; an x that is
/// not finite makes the scale, and so the result, NaN. Error of normally distributed activations:
/// 0.59 % (i8), 0.53 % (i4_pair) and 0.47 % (f4_pair).
struct packed_matrix {
  tensor storage;  ///< layout private to the back end
  std::int64_t out = 0;
  std::int64_t in = 0;
  dtype source = dtype::bf16;
  scale_rule scale{};  ///< of an f4_pair matrix
};

/// Keys and values of one layer: [blocks, kv_heads, block_size, head_dim] each, so that what a head
/// reads lies together. f32, bf16, or f8_e4m3 without scales: values are rounded to nearest, ties
/// to even, and saturate at +-448, so that each is off by 1/16 of itself at most (below 1/64: by
/// 1/1024).
struct kv_cache {
  tensor keys;
  tensor values;
};

/// Where the queries of each sequence stand and where their keys lie. All tensors are i32.
/// Row r of sequence s has position `first_position[s] + (r - row_begin[s])`.
struct attention_layout {
  tensor row_begin;               ///< [sequences + 1]
  tensor first_position;          ///< [sequences]
  tensor block_table;             ///< [sequences, blocks_max]
  tensor first_block;             ///< [sequences]: absolute index of the block in column 0
  std::int64_t rows_max = 0;      ///< longest run of rows of one sequence in this batch
  std::int64_t position_max = 0;  ///< largest position in this batch
};

struct attention_shape {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t block_size = 0;
  std::int64_t window = 0;  ///< keys a query sees in one direction, itself included; 0 = all
  float scale = 0;          ///< factor on q.k
};

/// The soft cap on logits.
struct logit_cap {
  float multiplier = 1;
  float cap = 0;
};

/// What a block of rows that no cache holds brings to its attention.
struct block_keys {
  kv_cache context;   ///< keys of the positions in front of each block, in the layout's tables
  tensor valid_from;  ///< [sequences] i32: context before this position is neither seen nor read
  tensor keys;        ///< [rows, kv_heads * head_dim] of the block's own rows, in the cache's type
  tensor values;      ///< likewise
};

/// How q and k of one layer are finished: norm (rounded), weight, scale, rotation, one rounding.
struct head_rules {
  std::int64_t head_dim = 0;
  float eps = 0;
  float scale = 1;      ///< after the norm; 3.87 for q, 1 for k
  bool rotate = false;  ///< half-split RoPE
  float rope_theta = 0;
  tensor weight{};  ///< f32 [head_dim] of a plain norm; none for a weightless one
};

/// Everything a back end computes. Every op queues on `s` and returns; shapes and types are
/// asserted by `checked_ops` (gpu/checked_ops.hpp) before they reach a back end. Activations are
/// bf16 or f32 (one type per model); accumulation is fp32; a row's result has the same bits for any
/// number of rows, any place in the batch and any number of threads (law 7).
class ops {
 public:
  virtual ~ops() = default;

  /// Bytes of storage that `pack` needs for a matrix: any u8 tensor of that size will do.
  virtual std::size_t packed_bytes(matrix_extent extent, dtype source) const = 0;
  /// Packs rows [row, row + rows.shape[0]) of `to` from row-major `rows` [n, in] ([n, in / 2] for
  /// f4_pair, whose `in` is a multiple of 16), whose type is `to.source` (f32, bf16, f16, f8_e4m3
  /// without NaN, f4_pair), or f32, bf16 or f16 to be quantised to i8 or i4_pair. Any number of
  /// calls, in any order, fill a matrix.
  virtual void pack(stream_handle s, const packed_matrix& to, std::int64_t row, tensor rows) = 0;
  /// Packs the block scales of f8_e4m3 or f4_pair from its row `row` on: f32 [n, ceil(in / 128)]
  /// for 128 rows each of f8_e4m3 (`row` a multiple of 128), f8_e4m3 [n, in / 16] for f4_pair.
  virtual void pack_scales(stream_handle s, const packed_matrix& to, std::int64_t row,
                           tensor scales) = 0;

  /// out[t] = table[ids[t]]. table [vocab, width] f32/bf16/f16, ids [tokens] i32, out [tokens,
  /// width].
  virtual void gather_rows(stream_handle s, tensor out, tensor table, tensor ids) = 0;

  /// Columns [column, column + x's width) of the first rows of `out` become x. Same type.
  virtual void store_columns(stream_handle s, tensor out, std::int64_t column, tensor x) = 0;

  /// Normalises each row of x [rows, width] into out (may alias x). weight: f32 [width], unused for
  /// weightless.
  virtual void rms_norm(stream_handle s, tensor out, tensor x, tensor weight, norm_kind kind,
                        float eps) = 0;

  /// h += u, one rounding. Same shape and type.
  virtual void add(stream_handle s, tensor h, tensor u) = 0;

  /// out[rows, w.out] = x[rows, w.in] * w^T, fp32 accumulation, one rounding to out's type.
  /// out f32 with bf16 x is allowed (the output head). out must not alias x.
  virtual void matmul(stream_handle s, tensor out, tensor x, const packed_matrix& w) = 0;

  /// Finishes heads in place: x [tokens, heads * head_dim]; positions [tokens] i32.
  virtual void finish_heads(stream_handle s, tensor x, tensor positions,
                            const head_rules& rules) = 0;

  /// Writes rows of k and v [tokens, kv_heads * head_dim] into slots [tokens] i32, where
  /// slot = block * block_size + offset.
  virtual void store_kv(stream_handle s, const kv_cache& cache, tensor k, tensor v,
                        tensor slots) = 0;

  /// Causal attention of q [tokens, query_heads * head_dim] over the cache (this step's keys are
  /// already stored). out like q, may alias it. Keys are visited in absolute tiles, left to right.
  virtual void attention(stream_handle s, tensor out, tensor q, const kv_cache& cache,
                         const attention_layout& layout, const attention_shape& shape) = 0;

  /// Attention that is not causal, of blocks of rows whose own keys no cache holds. The rows of
  /// sequence s stand at first_position[s] and behind it; each sees its whole block and the context
  /// from valid_from[s] to first_position[s] - 1, both as far as the window reaches to either side.
  /// Keys are visited as in `attention`. out like q, may alias it.
  virtual void block_attention(stream_handle s, tensor out, tensor q, const block_keys& block,
                               const attention_layout& layout, const attention_shape& shape) = 0;

  /// o *= sigmoid(g), element by element; fp32 inside, one rounding.
  virtual void sigmoid_gate(stream_handle s, tensor o, tensor g) = 0;

  /// gate = silu(gate) * up, fp32 inside, one rounding.
  virtual void silu_product(stream_handle s, tensor gate, tensor up) = 0;

  /// z = cap * tanh(multiplier * z / cap), f32 in place; the multiplier first.
  virtual void cap_logits(stream_handle s, tensor z, logit_cap rule) = 0;

  /// Copies one block onto another within a cache (keys and values).
  virtual void copy_block(stream_handle s, const kv_cache& cache, block_copy blocks) = 0;
};

}  // namespace glimmer
