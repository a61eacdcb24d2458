#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/events.hpp"
#include "base/sampling_params.hpp"
#include "executor/candidates.hpp"

namespace glimmer {

/// Below this temperature the draw is greedy.
inline constexpr float greedy_below = 1e-5f;

/// Draws one token from one row of logits. Holds only scratch memory: what it returns depends on
/// the arguments alone. One per thread.
class sampler {
 public:
  /// Draws the output token of index `output_index` (counted from 0). Below `greedy_below`: the
  /// largest logit, lowest token among equals. Else, in this order: temperature; min_p keeps
  /// tokens of at least min_p times the largest probability; top_k keeps the k largest (lower
  /// tokens first among equals); top_p keeps the shortest run of the largest whose probability,
  /// renormalised over what is left, reaches top_p; then token i is drawn with its probability,
  /// walking the tokens upwards until uniform_draw({seed, output_index}) is used up.
  /// nullopt when the row is broken (see `row_maximum`).
  std::optional<token_id> draw(std::span<const float> row, const sampling_params& params,
                               std::uint64_t output_index);

  /// The chosen token's natural-log probability under the plain softmax of `row`, with the `top`
  /// best tokens beside it, best first, lower tokens first among equals (they may include the
  /// chosen one). `row` holds the model's logits before penalties, masks and temperature, as the
  /// API's users expect; it must not be broken.
  token_logprob logprob_of(std::span<const float> row, token_id chosen, std::uint32_t top);

 private:
  std::vector<candidate> candidates_;
};

}  // namespace glimmer
