#include <array>
#include <cmath>
#include <limits>

#include "gpu/cpu/bf16.hpp"
#include "gpu/cpu/elementary.hpp"
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

void attend_one(const tile_queries& t, std::int64_t query) {
  tile_scores p = scores_of(t, t.q + query * t.stride);
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
  for (std::int64_t d = 0; d < t.head_dim; ++d) {
    float o = 0;
    for (std::int64_t j = t.begin; j < t.end; ++j)
      o = std::fma(p[static_cast<std::size_t>(j)], t.values[j * t.stride + d], o);
    output[d] = std::fma(output[d], old_share, o * new_share);
  }
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
  for (std::int64_t query = 0; query < queries.count; ++query) attend_one(queries, query);
}

}  // namespace glimmer
