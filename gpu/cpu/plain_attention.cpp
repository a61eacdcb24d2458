#include <array>
#include <cmath>
#include <limits>

#include "gpu/cpu/bf16.hpp"
#include "gpu/cpu/elementary.hpp"
#include "gpu/cpu/pair_sum.hpp"
#include "gpu/cpu/plain.hpp"

namespace glimmer {

namespace {

using tile_scores = std::array<float, key_tile>;

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// s_j for the keys of the tile that the row sees, minus infinity elsewhere.
tile_scores scores_of(const tile_queries& t, const float* q) {
  tile_scores s;
  s.fill(minus_infinity);
  for (std::int64_t j = t.begin; j < t.end; ++j) {
    float dot = 0;
    for (std::int64_t d = 0; d < t.head_dim; ++d)
      dot = std::fma(q[d], t.keys[d * key_tile + j], dot);
    s[static_cast<std::size_t>(j)] = dot * t.scale;
  }
  return s;
}

float largest(const tile_scores& s) {
  float m = minus_infinity;
  for (const float value : s) m = max_of(m, value);
  return m;
}

/// Sums in 16 lanes, lane j % 16, as every reduction.
float sum_of(const tile_scores& p) {
  lane_sums lanes{};
  for (std::size_t j = 0; j < p.size(); ++j) lanes[j % lane_count] += p[j];
  return fold(lanes);
}

/// sum p_j v_j of component `d`.
float value_of(const tile_queries& t, const tile_scores& p, std::int64_t d) {
  float o = 0;
  for (std::int64_t j = t.begin; j < t.end; ++j)
    o = std::fma(p[static_cast<std::size_t>(j)], t.values[j * t.stride + d], o);
  return o;
}

/// The same in pairs.
tile_scores scores_of(const pair_queries& t, const bf16* q) {
  tile_scores s;
  s.fill(minus_infinity);
  const std::int64_t depth = pair_depth(t.head_dim);
  for (std::int64_t j = t.begin; j < t.end; ++j) {
    const auto& group = t.keys.groups[j / pair_keys_width];
    const auto* const key =
        reinterpret_cast<const bf16*>(group.first + j % pair_keys_width * group.stride);
    float dot = 0;
    for (std::int64_t begin = 0; begin < depth; begin += pair_sum::columns) {
      pair_sum pairs;
      for (std::int64_t d = begin; d < begin + pair_sum::columns; ++d)
        pairs.add(d % 2, {widen(key[d]), widen(q[d / 2 * (2 * pair_queries_width) + d % 2])});
      dot = pairs.added_to(dot);
    }
    s[static_cast<std::size_t>(j)] = dot * t.scale;
  }
  return s;
}

float value_of(const pair_queries& t, const tile_scores& p, std::int64_t d) {
  float o = 0;
  for (std::int64_t begin = 0; begin < key_tile; begin += pair_sum::columns) {
    pair_sum near;
    pair_sum rest;
    for (std::int64_t j = begin; j < begin + pair_sum::columns; ++j) {
      const float weight = pair_sum::flushed(p[static_cast<std::size_t>(j)]);
      const float rounded = widen(to_bf16(weight));
      const float missing = pair_sum::flushed(weight - rounded);
      const float value = widen(t.values[(j / 2 * t.stride + d) * 2 + j % 2]);
      near.add(j % 2, {rounded, value});
      rest.add(j % 2, {widen(to_bf16(missing)), value});
    }
    o = rest.added_to(near.added_to(o));
  }
  return o;
}

/// Merges the tile into query `query`, whose components begin at `q`.
template <class T, class Keys>
void attend_one(const tile_queries_of<T, Keys>& t, std::int64_t query, const T* q) {
  tile_scores p = scores_of(t, q);
  const float tile_best = largest(p);
  for (float& value : p) value = exp_f32(value - tile_best);

  float& best = t.best[query];
  float& total = t.total[query];
  float* const output = t.output + query * t.stride;
  const float merged = max_of(best, tile_best);
  const float old_share = exp_f32(best - merged);
  const float new_share = exp_f32(tile_best - merged);
  best = merged;
  total = std::fma(total, old_share, sum_of(p) * new_share);
  for (std::int64_t d = 0; d < t.head_dim; ++d)
    output[d] = std::fma(output[d], old_share, value_of(t, p, d) * new_share);
}

/// Component `d` of a row of bf16 or f8, or zero.
bf16 component(const tile_rows& rows, const void* row, std::int64_t d) {
  if (row == nullptr || d >= rows.head_dim) return {};
  if (rows.type == dtype::bf16) return static_cast<const bf16*>(row)[d];
  return to_bf16(widen(static_cast<const f8*>(row)[d]));
}

}  // namespace

void plain_load_keys(float* keys, const tile_rows& rows) {
  with_cached(rows.type, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t j = 0; j < key_tile; ++j) {
      const auto* const row = static_cast<const T*>(rows.row[j]);
      for (std::int64_t d = 0; d < rows.head_dim; ++d)
        keys[d * key_tile + j] = row != nullptr ? widen(row[d]) : 0.0f;
    }
  });
}

void plain_load_values(float* values, const tile_rows& rows) {
  with_cached(rows.type, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t j = 0; j < key_tile; ++j) {
      const auto* const row = static_cast<const T*>(rows.row[j]);
      for (std::int64_t d = 0; d < rows.stride; ++d)
        values[j * rows.stride + d] = row != nullptr && d < rows.head_dim ? widen(row[d]) : 0.0f;
    }
  });
}

void plain_attend(const tile_queries& queries) {
  for (std::int64_t query = 0; query < queries.count; ++query)
    attend_one(queries, query, queries.q + query * queries.stride);
}

void plain_load_pair_queries(bf16* q, const tile_rows& rows) {
  for (std::int64_t d = 0; d < pair_depth(rows.head_dim); ++d)
    for (std::int64_t n = 0; n < pair_queries_width; ++n)
      q[(d / 2 * pair_queries_width + n) * 2 + d % 2] = component(rows, rows.row[n], d);
}

pair_keys plain_load_pair_keys(bf16* scratch, const tile_rows& rows) {
  const std::int64_t depth = pair_depth(rows.head_dim);
  pair_keys keys;
  for (std::int64_t j = 0; j < key_tile; ++j) {
    bf16* const key = scratch + j * depth;
    for (std::int64_t d = 0; d < depth; ++d) key[d] = component(rows, rows.row[j], d);
    if (j % pair_keys_width == 0)
      keys.groups[j / pair_keys_width] = {
          .first = reinterpret_cast<const std::byte*>(key),
          .stride = depth * static_cast<std::int64_t>(sizeof(bf16))};
  }
  return keys;
}

void plain_load_pair_values(bf16* values, const tile_rows& rows) {
  for (std::int64_t j = 0; j < key_tile; ++j)
    for (std::int64_t d = 0; d < rows.stride; ++d)
      values[(j / 2 * rows.stride + d) * 2 + j % 2] = component(rows, rows.row[j], d);
}

void plain_attend_pairs(const pair_queries& queries) {
  const std::int64_t group = pair_queries_width * pair_depth(queries.head_dim);
  for (std::int64_t query = 0; query < queries.count; ++query)
    attend_one(queries, query,
               queries.q + query / pair_queries_width * group + 2 * (query % pair_queries_width));
}

}  // namespace glimmer
