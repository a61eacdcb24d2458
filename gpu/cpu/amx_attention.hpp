#pragma once

#include <immintrin.h>

#include <utility>

#include "gpu/cpu/fast_attention.hpp"
#include "gpu/cpu/lanes_avx512.hpp"
#include "gpu/cpu/tile_registers.hpp"

namespace glimmer {

namespace {

// Attention in pairs. Scores are products of 16 keys by 16 queries, so that a vector holds all
// queries of one key: the largest score and the sums need no work across lanes. As factors of the
// values the probabilities are turned: a tile wants rows of them by query.
//
// Registers 0 to 3 hold sums; 4 and 5 keys, or near and missing probabilities; 6 queries or values.

/// Scores, then probabilities, of a tile's keys.
struct alignas(64) pair_scores {
  float p[key_tile][pair_queries_width];
};

/// Probabilities of two runs of 32 keys in pairs, by query: rounded, and what that took away.
struct alignas(64) pair_weights {
  std::uint32_t near[2][pair_queries_width][16];
  std::uint32_t missing[2][pair_queries_width][16];
};

/// This tile's values, of some components.
inline constexpr std::int64_t components_at_once = 4 * 16;
struct alignas(64) pair_values {
  float o[pair_queries_width][components_at_once];
};

inline void amx_load_queries(bf16* q, const tile_rows& rows) {
  const std::int64_t depth = pair_depth(rows.head_dim);
  __builtin_memset(q, 0, static_cast<std::size_t>(depth * pair_queries_width) * sizeof(bf16));
  for (std::int64_t n = 0; n < pair_queries_width; ++n) {
    const auto* const row = static_cast<const bf16*>(rows.row[n]);
    if (row == nullptr) continue;
    for (std::int64_t d = 0; d < rows.head_dim; ++d)
      q[(d / 2 * pair_queries_width + n) * 2 + d % 2] = row[d];
  }
}

/// Calls body(T{}) with the type of keys that are taken in pairs.
template <class Body>
void with_short(dtype type, const Body& body) {
  if (type == dtype::f8_e4m3) return body(f8{});
  body(bf16{});
}

/// 16 E4M3 codes as bf16.
inline __m256i sixteen_of_f8(__m128i codes) {
  return _mm512_castsi512_si256(bf16_of_f8<0>(_mm256_castsi128_si256(codes)));
}

/// 16 components of a row, as bf16; zeros where there are none.
template <class L, class T, class Lanes>
[[gnu::always_inline]] inline __m256i sixteen_of(const void* row, std::int64_t d, Lanes lanes) {
  if (row == nullptr) return _mm256_setzero_si256();
  const T* const from = static_cast<const T*>(row) + d;
  if constexpr (std::is_same_v<T, f8> && std::is_same_v<Lanes, all_lanes>) {
    return sixteen_of_f8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  } else if constexpr (std::is_same_v<T, f8>) {
    return sixteen_of_f8(_mm_maskz_loadu_epi8(L::mask(lanes), from));
  } else if constexpr (std::is_same_v<Lanes, all_lanes>) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  } else {
    return _mm256_maskz_loadu_epi16(L::mask(lanes), from);
  }
}

/// From key to key of 16 in the cache, if a tile can take them as they lie: whole steps of bf16,
/// evenly spaced. Else 0.
inline std::int64_t even_stride(const void* const* row, const tile_rows& rows) {
  if (rows.type != dtype::bf16 || rows.head_dim % 32 != 0) return 0;
  for (std::int64_t j = 0; j < pair_keys_width; ++j)
    if (row[j] == nullptr) return 0;
  const auto* const begin = static_cast<const std::byte*>(row[0]);
  const std::int64_t stride = static_cast<const std::byte*>(row[1]) - begin;
  for (std::int64_t j = 2; j < pair_keys_width; ++j)
    if (row[j] != begin + j * stride) return 0;
  return stride;
}

template <class L>
pair_keys amx_load_keys(bf16* scratch, const tile_rows& rows) {
  const std::int64_t depth = pair_depth(rows.head_dim);
  const std::int64_t row_bytes = depth * static_cast<std::int64_t>(sizeof(bf16));
  pair_keys keys;
  for (std::int64_t first = 0; first < key_tile; first += pair_keys_width) {
    auto& group = keys.groups[first / pair_keys_width];
    if (const std::int64_t stride = even_stride(rows.row + first, rows); stride != 0) {
      group = {.first = static_cast<const std::byte*>(rows.row[first]), .stride = stride};
      continue;
    }
    bf16* key = scratch + first * depth;
    group = {.first = reinterpret_cast<const std::byte*>(key), .stride = row_bytes};
    with_short(rows.type, [&](auto tag) {
      using T = decltype(tag);
      for (std::int64_t j = first; j < first + pair_keys_width; ++j, key += depth) {
        if (rows.head_dim != depth) __builtin_memset(key, 0, static_cast<std::size_t>(row_bytes));
        in_blocks<L>(rows.head_dim, [&](std::int64_t d, auto lanes) {
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(key + d),
                              sixteen_of<L, T>(rows.row[j], d, lanes));
        });
      }
    });
  }
  return keys;
}

template <class L>
void amx_load_values(bf16* values, const tile_rows& rows) {
  with_short(rows.type, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t j = 0; j < key_tile; j += 2) {
      ask(rows.ahead, 1);
      in_blocks<L>(rows.head_dim, [&](std::int64_t d, auto lanes) {
        const __m512i even = _mm512_cvtepu16_epi32(sixteen_of<L, T>(rows.row[j], d, lanes));
        const __m512i odd = _mm512_cvtepu16_epi32(sixteen_of<L, T>(rows.row[j + 1], d, lanes));
        _mm512_store_si512(values + (j / 2 * rows.stride + d) * 2,
                           _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
      });
    }
  });
}

// The rows of the next tile, 2 * key_tile, are asked for in four even parts: while values are
// loaded, in the scores, in their exponentials, and as these are turned.

/// q . k of all keys.
inline void score_pairs(const pair_queries& t, const bf16* q, pair_scores& to) {
  const std::int64_t depth = pair_depth(t.head_dim);
  const auto& keys = t.keys.groups;
  const std::int64_t asked_at_once = key_tile / 2 / (depth / 32);
  clear_tile<0>();
  clear_tile<1>();
  clear_tile<2>();
  clear_tile<3>();
  for (std::int64_t d = 0; d < depth; d += 32) {
    const std::int64_t at = d * static_cast<std::int64_t>(sizeof(bf16));
    ask(t.ahead, asked_at_once);
    load_tile<6>(q + d * pair_queries_width, tile_row_bytes);
    load_tile<4>(keys[0].first + at, keys[0].stride);
    add_pair_products<0, 4, 6>();
    load_tile<5>(keys[1].first + at, keys[1].stride);
    add_pair_products<1, 5, 6>();
    load_tile<4>(keys[2].first + at, keys[2].stride);
    add_pair_products<2, 4, 6>();
    load_tile<5>(keys[3].first + at, keys[3].stride);
    add_pair_products<3, 5, 6>();
  }
  store_tile<0>(to.p[0], tile_row_bytes);
  store_tile<1>(to.p[16], tile_row_bytes);
  store_tile<2>(to.p[32], tile_row_bytes);
  store_tile<3>(to.p[48], tile_row_bytes);
}

/// Scores become unnormalised probabilities, 0 where a key is not seen; totals are merged.
template <class L>
void weigh_pairs(const pair_queries& t, std::int64_t first, pair_scores& scores,
                 merge_shares& shares) {
  const first_lanes queries{static_cast<int>(
      t.count - first < pair_queries_width ? t.count - first : pair_queries_width)};
  const L scale = L::all(t.scale);
  L best = L::all(-__builtin_inff());
  for (std::int64_t j = t.begin; j < t.end; ++j) {
    const L score = L::load(scores.p[j], all_lanes{}) * scale;
    score.store(scores.p[j], all_lanes{});
    best = L::max_of(best, score);
  }
  L sums[lanes_of_block];
#pragma GCC unroll 16
  for (int i = 0; i < lanes_of_block; ++i) sums[i] = L::zero();
  for (std::int64_t begin = 0; begin < key_tile; begin += lanes_of_block) {
#pragma GCC unroll 16
    for (int i = 0; i < lanes_of_block; ++i) {
      const std::int64_t j = begin + i;
      if (i % 2 == 0) ask(t.ahead, 1);
      L weight = L::zero();
      if (j >= t.begin && j < t.end) weight = exp_of(L::load(scores.p[j], all_lanes{}) - best);
      weight.store(scores.p[j], all_lanes{});
      sums[i] = sums[i] + weight;
    }
  }
#pragma GCC unroll 4
  for (int half = lanes_of_block / 2; half > 0; half /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) sums[i] = sums[i] + sums[i + half];

  merge_totals<L>(t.best + first, t.total + first, queries, {best, sums[0]}, shares);
}

/// Two vectors rounded to bf16, side by side in each lane; tiny numbers become zero.
inline __m512i rounded_pair(__m512 first, __m512 second) {
  alignas(64) static constexpr std::uint16_t order[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
  return _mm512_permutexvar_epi16(_mm512_load_si512(order), both);
}

/// Transposes 16 rows of 16 words.
inline void turn_sixteen(__m512i (&r)[16]) {
  __m512i pairs[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  __m512i fours[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    fours[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
    fours[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
    fours[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    fours[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // column i of each quarter, of four rows each
    const __m512i low = _mm512_shuffle_i32x4(fours[i], fours[i + 4], 0x88);
    const __m512i high = _mm512_shuffle_i32x4(fours[i], fours[i + 4], 0xdd);
    const __m512i low2 = _mm512_shuffle_i32x4(fours[i + 8], fours[i + 12], 0x88);
    const __m512i high2 = _mm512_shuffle_i32x4(fours[i + 8], fours[i + 12], 0xdd);
    r[i] = _mm512_shuffle_i32x4(low, low2, 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(low, low2, 0xdd);
    r[i + 4] = _mm512_shuffle_i32x4(high, high2, 0x88);
    r[i + 12] = _mm512_shuffle_i32x4(high, high2, 0xdd);
  }
}

inline void weights_of(const pair_scores& scores, pair_weights& to, rows_ahead* ahead) {
  for (int run = 0; run < 2; ++run) {
    __m512i near[16];
    __m512i missing[16];
    const __m512i odd = _mm512_set1_epi32(-65536);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m512 first = _mm512_load_ps(scores.p[32 * run + 2 * i]);
      const __m512 second = _mm512_load_ps(scores.p[32 * run + 2 * i + 1]);
      ask(ahead, 1);
      near[i] = rounded_pair(first, second);
      const __m512 near_first = _mm512_castsi512_ps(_mm512_slli_epi32(near[i], 16));
      const __m512 near_second = _mm512_castsi512_ps(_mm512_and_si512(near[i], odd));
      missing[i] =
          rounded_pair(_mm512_sub_ps(first, near_first), _mm512_sub_ps(second, near_second));
    }
    turn_sixteen(near);
    turn_sixteen(missing);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      _mm512_store_si512(to.near[run][i], near[i]);
      _mm512_store_si512(to.missing[run][i], missing[i]);
    }
  }
}

/// sum p_j v_j of so many groups of 16 components.
template <int... Group>
void value_pairs(const bf16* values, std::int64_t stride, const pair_weights& weights,
                 pair_values& to, std::integer_sequence<int, Group...>) {
  const std::int64_t pair_bytes = stride * 2 * static_cast<std::int64_t>(sizeof(bf16));
  (clear_tile<Group>(), ...);
  for (int run = 0; run < 2; ++run) {
    const bf16* const from = values + run * 16 * stride * 2;
    load_tile<4>(weights.near[run], tile_row_bytes);
    load_tile<5>(weights.missing[run], tile_row_bytes);
    (
        [&] {
          constexpr int value = 6 + Group % 2;
          load_tile<value>(from + Group * 32, pair_bytes);
          add_pair_products<Group, 4, value>();
          add_pair_products<Group, 5, value>();
        }(),
        ...);
  }
  (store_tile<Group>(to.o[0] + Group * 16, sizeof to.o[0]), ...);
}

/// First query and component of a block of outputs.
struct output_corner {
  std::int64_t query = 0;
  std::int64_t component = 0;
};

/// Merges the values of 16 * Groups components into the outputs.
template <int Groups, class L>
void merge_pairs(const pair_queries& t, output_corner corner, const pair_weights& weights,
                 const merge_shares& shares) {
  const auto [first, at] = corner;
  pair_values values;
  value_pairs(t.values + at * 2, t.stride, weights, values,
              std::make_integer_sequence<int, Groups>{});
  const std::int64_t left = t.count - first;
  const std::int64_t count = left < pair_queries_width ? left : pair_queries_width;
  for (std::int64_t n = 0; n < count; ++n) {
    float* const output = t.output + (first + n) * t.stride + at;
    const L before = L::all(shares.before[n]);
    const L here = L::all(shares.here[n]);
#pragma GCC unroll 4
    for (int group = 0; group < Groups; ++group) {
      float* const place = output + group * lanes_of_block;
      const L value = L::load(values.o[n] + group * lanes_of_block, all_lanes{});
      L::fma(L::load(place, all_lanes{}), before, value * here).store(place, all_lanes{});
    }
  }
}

template <class L>
void amx_attend(const pair_queries& t) {
  tile_registers registers;
  registers.shape({.rows = tile_rows_max, .more_rows = tile_rows_max, .row_bytes = tile_row_bytes});
  const std::int64_t depth = pair_depth(t.head_dim);
  pair_scores scores;
  pair_weights weights;
  merge_shares shares;
  for (std::int64_t first = 0; first < t.count; first += pair_queries_width) {
    score_pairs(t, t.q + first * depth, scores);
    weigh_pairs<L>(t, first, scores, shares);
    weights_of(scores, weights, t.ahead);
    before_tiles_load();
    std::int64_t at = 0;
    for (; at + components_at_once <= t.stride; at += components_at_once)
      merge_pairs<4, L>(t, {first, at}, weights, shares);
    switch ((t.stride - at) / lanes_of_block) {
      case 3: merge_pairs<3, L>(t, {first, at}, weights, shares); break;
      case 2: merge_pairs<2, L>(t, {first, at}, weights, shares); break;
      case 1: merge_pairs<1, L>(t, {first, at}, weights, shares); break;
      default: break;
    }
  }
}

}  // namespace

}  // namespace glimmer
