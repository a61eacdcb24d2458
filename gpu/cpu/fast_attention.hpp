#pragma once

#include <array>

#include "gpu/cpu/fast_math.hpp"
#include "gpu/cpu/kernels.hpp"
#include "gpu/cpu/weight_streams.hpp"

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

/// What the outputs so far and this tile's count for in those merged, by query.
struct merge_shares {
  alignas(64) float before[lanes_of_block];
  alignas(64) float here[lanes_of_block];
};

/// Asks for some of the rows that are wanted next.
[[gnu::always_inline]] inline void ask(rows_ahead* ahead, std::int64_t rows) {
  constexpr std::int64_t line_bytes = 64;
  if (ahead == nullptr) return;
  for (; rows > 0 && ahead->asked < ahead->row.size(); --rows) {
    const auto* const row = static_cast<const std::byte*>(ahead->row[ahead->asked++]);
    if (row == nullptr) continue;
    for (std::int64_t at = 0; at < ahead->bytes; at += line_bytes) fetch(row + at);
  }
}

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

/// A tile's largest scores and totals, a lane a query.
template <class L>
struct lane_totals {
  L best;
  L total;
};

/// Merges them into those at `best` and `total`.
template <class L>
void merge_totals(float* best, float* total, first_lanes queries, const lane_totals<L>& tile,
                  merge_shares& shares) {
  const L best_before = L::load(best, queries);
  const L merged = L::max_of(best_before, tile.best);
  const L before = exp_of(best_before - merged);
  const L here = exp_of(tile.best - merged);
  before.store(shares.before, all_lanes{});
  here.store(shares.here, all_lanes{});
  merged.store(best, queries);
  L::fma(L::load(total, queries), before, tile.total * here).store(total, queries);
}

/// Turns the scores of some queries into unnormalised probabilities and merges their totals.
template <class L, int Queries>
void weigh_tile(const tile_queries& t, std::int64_t first, tile_share<L, Queries>& share,
                merge_shares& shares) {
  static_assert(Queries <= lanes_of_block);
  alignas(64) float best[lanes_of_block] = {};
  alignas(64) float total[lanes_of_block] = {};
  for (int n = 0; n < Queries; ++n) {
    const tile_totals here = weigh_keys<L>(t, share.p[n]);
    best[n] = here.best;
    total[n] = here.total;
  }
  merge_totals<L>(t.best + first, t.total + first, {Queries},
                  {L::load(best, all_lanes{}), L::load(total, all_lanes{})}, shares);
}

/// Adds the tile's values to components [at, at + 16 * Vectors) of the outputs.
template <class L, int Queries, int Vectors>
void merge_values(const tile_queries& t, const tile_share<L, Queries>& share,
                  const merge_shares& shares, float* output, std::int64_t at) {
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
    const L before = L::all(shares.before[n]);
    const L here = L::all(shares.here[n]);
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      float* const place = output + n * t.stride + at + v * lanes_of_block;
      L::fma(L::load(place, all_lanes{}), before, sums[n][v] * here).store(place, all_lanes{});
    }
  }
}

template <class L>
inline constexpr std::int64_t lanes_at_once = L::vectors_at_once* lanes_of_block;

/// Queries [first, first + count).
struct query_run {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t asked_at_once = 0;  ///< rows that are wanted next
};

/// A run of `Queries`.
template <class L, int Queries>
void attend_some(const tile_queries& t, const query_run& run) {
  constexpr std::int64_t wide = lanes_at_once<L>;
  tile_share<L, Queries> share;
  for (std::int64_t key = 0; key < key_tile; key += wide) {
    ask(t.ahead, run.asked_at_once);
    score_keys<L, Queries, L::vectors_at_once>(t, {.query = run.first, .key = key}, share);
  }
  merge_shares shares;
  weigh_tile(t, run.first, share, shares);
  float* const output = t.output + run.first * t.stride;
  std::int64_t at = 0;
  for (; at + wide <= t.stride; at += wide) {
    ask(t.ahead, run.asked_at_once);
    merge_values<L, Queries, L::vectors_at_once>(t, share, shares, output, at);
  }
  for (; at < t.stride; at += lanes_of_block)
    merge_values<L, Queries, 1>(t, share, shares, output, at);
}

/// A run of `Queries` at most.
template <class L, int Queries>
void attend_few(const tile_queries& t, const query_run& run) {
  if constexpr (Queries > 0) {
    if (run.count == Queries) return attend_some<L, Queries>(t, run);
    attend_few<L, Queries - 1>(t, run);
  }
}

/// In groups of like size: a small last one would leave units without work.
template <class L>
void fast_attend(const tile_queries& t) {
  std::int64_t groups = (t.count + L::queries_at_once - 1) / L::queries_at_once;
  const std::int64_t times = groups * (key_tile + t.stride) / lanes_at_once<L>;
  const std::int64_t asked = (2 * key_tile + times - 1) / times;
  for (std::int64_t first = 0; groups > 0; --groups) {
    const std::int64_t count = (t.count - first + groups - 1) / groups;
    attend_few<L, L::queries_at_once>(t, {.first = first, .count = count, .asked_at_once = asked});
    first += count;
  }
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

/// Squares of 8 keys by 8 or 16 components are turned in registers; a rest of components one by
/// one.
template <class L>
void fast_load_keys(float* keys, const tile_rows& rows) {
  with_cached(rows.type, [&](auto tag) {
    using T = decltype(tag);
    constexpr std::int64_t side = 8;
    constexpr std::int64_t depth = L::square::template depth<T>;
    for (std::int64_t j = 0; j < key_tile; j += side) {
      const T* row[side];
      for (std::int64_t i = 0; i < side; ++i) row[i] = static_cast<const T*>(rows.row[j + i]);
      std::int64_t d = 0;
      for (; d + depth <= rows.head_dim; d += depth)
        L::square::turn(row, d, keys + d * key_tile + j, key_tile);
      for (; d < rows.head_dim; ++d)
        for (std::int64_t i = 0; i < side; ++i)
          keys[d * key_tile + j + i] = row[i] != nullptr ? L::one(row[i][d]) : 0.0f;
    }
  });
}

}  // namespace glimmer
