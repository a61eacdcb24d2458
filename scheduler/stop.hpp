#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.hpp"
#include "base/sampling_params.hpp"
#include "scheduler/sequence_output.hpp"

namespace glimmer {

/// What ends a sequence by ids and lengths alone.
struct stop_rules {
  std::span<const token_id> end_tokens;  ///< the model's own; sorted
  const sampling_params* params = nullptr;
  std::uint32_t output_max = 0;  ///< max_tokens, cut to context and KV
};

/// Whether the token at `output_index` is the last one, and why. An end token before index
/// min_tokens is a token like any other; an end token at the last index counts as a stop.
std::optional<end_cause> stop_cause(const stop_rules& rules, token_id token,
                                    std::uint32_t output_index);

}  // namespace glimmer
