#pragma once

#include "gpu/cpu/fast_math.hpp"
#include "gpu/cpu/kernels.hpp"

namespace glimmer {

// Attention of a few query heads over one tile of keys; the contract is in kernels.hpp, the judge
// plain_attention.cpp. Scores run over keys in the lanes, outputs over components.

/// Vectors that hold one score per key of a tile.
inline constexpr int score_vectors = static_cast<int>(key_tile / lanes_of_block);

/// Scores of some queries, then their unnormalised probabilities.
template <class L, int Queries>
struct tile_share {
  alignas(64) float p[Queries][key_tile];
};

struct tile_totals {
  float best = 0;
  float total = 0;
};

/// First query and key of a block of scores.
struct score_corner {
  std::int64_t query = 0;
  std::int64_t key = 0;
};

/// p = (q . k) * scale for some queries and `Vectors` vectors of keys, seen or not.
template <class L, int Queries, int Vectors>
void score_keys(const tile_queries& t, score_corner at, tile_share<L, Queries>& share) {
  const float* q[Queries];
  L sums[Queries][Vectors];
#pragma GCC unroll 8
  for (int n = 0; n < Queries; ++n) {
    q[n] = t.q + (at.query + n) * t.stride;
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sums[n][v] = L::zero();
  }
  for (std::int64_t d = 0; d < t.head_dim; ++d) {
    const float* const keys = t.keys + d * key_tile + at.key;
    L k[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) k[v] = L::load(keys + v * lanes_of_block, all_lanes{});
#pragma GCC unroll 8
    for (int n = 0; n < Queries; ++n) {
      const L factor = L::all(q[n][d]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sums[n][v] = L::fma(factor, k[v], sums[n][v]);
    }
  }
#pragma GCC unroll 8
  for (int n = 0; n < Queries; ++n)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v)
      (sums[n][v] * L::all(t.scale)).store(share.p[n] + at.key + v * lanes_of_block, all_lanes{});
}

/// Turns scores into unnormalised probabilities; keys that are not seen get 0.
template <class L>
tile_totals weigh_keys(const tile_queries& t, float* p) {
  constexpr float minus_infinity = -__builtin_inff();
  for (std::int64_t j = 0; j < t.begin; ++j) p[j] = minus_infinity;
  for (std::int64_t j = t.end; j < key_tile; ++j) p[j] = minus_infinity;
  L largest = L::all(minus_infinity);
  for (int v = 0; v < score_vectors; ++v)
    largest = L::max_of(largest, L::load(p + v * lanes_of_block, all_lanes{}));
  const float best = largest.largest();
  L sum = L::zero();
  for (int v = 0; v < score_vectors; ++v) {
    const L weight = exp_of(L::load(p + v * lanes_of_block, all_lanes{}) - L::all(best));
    weight.store(p + v * lanes_of_block, all_lanes{});
    sum = sum + weight;
  }
  return {.best = best, .total = sum.sum()};
}

/// Adds the tile's values to components [at, at + 16 * Vectors) of the outputs.
template <class L, int Queries, int Vectors>
void merge_values(const tile_queries& t, const tile_share<L, Queries>& share,
                  const L (&old_share)[Queries], const L (&new_share)[Queries], float* output,
                  std::int64_t at) {
  L sums[Queries][Vectors];
#pragma GCC unroll 8
  for (int n = 0; n < Queries; ++n)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sums[n][v] = L::zero();
  for (std::int64_t j = t.begin; j < t.end; ++j) {
    const float* const row = t.values + j * t.stride + at;
    L values[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) values[v] = L::load(row + v * lanes_of_block, all_lanes{});
#pragma GCC unroll 8
    for (int n = 0; n < Queries; ++n) {
      const L weight = L::all(share.p[n][j]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sums[n][v] = L::fma(weight, values[v], sums[n][v]);
    }
  }
#pragma GCC unroll 8
  for (int n = 0; n < Queries; ++n) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      float* const place = output + n * t.stride + at + v * lanes_of_block;
      L::fma(L::load(place, all_lanes{}), old_share[n], sums[n][v] * new_share[n])
          .store(place, all_lanes{});
    }
  }
}

/// `Queries` queries from `first` on.
template <class L, int Queries>
void attend_some(const tile_queries& t, std::int64_t first) {
  constexpr std::int64_t wide = L::vectors_at_once * lanes_of_block;
  tile_share<L, Queries> share;
  for (std::int64_t key = 0; key < key_tile; key += wide)
    score_keys<L, Queries, L::vectors_at_once>(t, {.query = first, .key = key}, share);
  L old_share[Queries];
  L new_share[Queries];
  for (int n = 0; n < Queries; ++n) {
    const tile_totals here = weigh_keys<L>(t, share.p[n]);
    float& best = t.best[first + n];
    float& total = t.total[first + n];
    const L merged = L::max_of(L::all(best), L::all(here.best));
    old_share[n] = exp_of(L::all(best) - merged);
    new_share[n] = exp_of(L::all(here.best) - merged);
    best = merged.first();
    total = L::fma(L::all(total), old_share[n], L::all(here.total) * new_share[n]).first();
  }
  float* const output = t.output + first * t.stride;
  std::int64_t at = 0;
  for (; at + wide <= t.stride; at += wide)
    merge_values<L, Queries, L::vectors_at_once>(t, share, old_share, new_share, output, at);
  for (; at < t.stride; at += lanes_of_block)
    merge_values<L, Queries, 1>(t, share, old_share, new_share, output, at);
}

template <class L>
void fast_attend(const tile_queries& queries) {
  std::int64_t query = 0;
  for (; query + L::queries_at_once <= queries.count; query += L::queries_at_once)
    attend_some<L, L::queries_at_once>(queries, query);
  for (; query < queries.count; ++query) attend_some<L, 1>(queries, query);
}

template <class L>
void fast_load_values(float* values, const tile_rows& rows) {
  with_cached(rows.type, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t j = 0; j < key_tile; ++j) {
      const T* const row = static_cast<const T*>(rows.row[j]);
      float* const to = values + j * rows.stride;
      in_blocks<L>(rows.head_dim, [&](std::int64_t d, auto lanes) {
        const L value = row != nullptr ? L::load(row + d, lanes) : L::zero();
        value.store(to + d, all_lanes{});
      });
    }
  });
}

/// Squares of 8 keys by 8 components are turned in registers; a rest of components one by one.
template <class L>
void fast_load_keys(float* keys, const tile_rows& rows) {
  with_cached(rows.type, [&](auto tag) {
    using T = decltype(tag);
    constexpr std::int64_t side = 8;
    const std::int64_t squares_end = rows.head_dim / side * side;
    for (std::int64_t j = 0; j < key_tile; j += side) {
      const T* row[side];
      for (std::int64_t i = 0; i < side; ++i) row[i] = static_cast<const T*>(rows.row[j + i]);
      for (std::int64_t d = 0; d < squares_end; d += side)
        L::turn_square(row, d, keys + d * key_tile + j);
      for (std::int64_t d = squares_end; d < rows.head_dim; ++d)
        for (std::int64_t i = 0; i < side; ++i)
          keys[d * key_tile + j + i] = row[i] != nullptr ? L::one(row[i][d]) : 0.0f;
    }
  });
}

}  // namespace glimmer
