#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace glimmer {

/// A token that may still be drawn. Lists of candidates are ordered by token.
struct candidate {
  token_id token = 0;
  float logit = 0;
  std::uint64_t weight = 0;  ///< its share of the draw, see `weight_one`
};

/// The weight of the most probable token. Weights are integers, so their sums do not depend on the
/// order of adding: a draw has one exact meaning, however the work is split. With 2^43 for the
/// largest weight, sums over 2^20 tokens fit 64 bits; a token below exp(-30) of the largest has
/// weight 0 and is never drawn.
inline constexpr std::uint64_t weight_one = std::uint64_t{1} << 43;

/// The largest logit; nullopt when the row is broken: any NaN or +inf, or nothing above -inf.
std::optional<float> row_maximum(std::span<const float> row);

/// The lowest token that has the largest logit. `maximum` is `row_maximum(row)`.
token_id lowest_argmax(std::span<const float> row, float maximum);

/// Sum over the row of exp(logit - maximum) * weight_one; at least `weight_one`.
std::uint64_t row_weight(std::span<const float> row, float maximum);

/// What `gather` keeps: exponents (logit - maximum) * inverse_temperature of at least `floor`.
struct gather_rule {
  float maximum = 0;
  float inverse_temperature = 1;
  float floor = 0;
};

/// Replaces `out` by the row's tokens that the rule keeps, ordered by token; weights stay 0.
void gather(std::vector<candidate>& out, std::span<const float> row, const gather_rule& rule);

/// `gather`, then `keep_best(out, count)`; but most of the row is read only once, for the maxima of
/// its pieces: a piece whose maximum is not among the `count` best holds nothing to keep.
void gather_best(std::vector<candidate>& out, std::span<const float> row, const gather_rule& rule,
                 std::size_t count);

/// Sets every candidate's weight to exp(exponent) * weight_one; returns their sum.
std::uint64_t weigh(std::span<candidate> all, const gather_rule& rule);

/// Keeps the `count` best, by logit and then by lower token. Three passes at most, no sort.
void keep_best(std::vector<candidate>& all, std::size_t count);

/// Keeps the shortest run of best candidates whose weights sum to at least `weight`.
void keep_heaviest(std::vector<candidate>& all, std::uint64_t weight);

}  // namespace glimmer
