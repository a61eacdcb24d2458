#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace glimmer {

/// How tokens are chosen. Validated before it is built; the executor trusts it.
struct sampling_params {
  float temperature = 1.0f;         ///< 0 means greedy
  float top_p = 1.0f;               ///< (0, 1]; 1 keeps all
  float min_p = 0.0f;               ///< [0, 1]; 0 keeps all
  std::int32_t top_k = 0;           ///< 0 keeps all
  float presence_penalty = 0.0f;    ///< [-2, 2], per token that occurred in the output
  float frequency_penalty = 0.0f;   ///< [-2, 2], per occurrence in the output
  float repetition_penalty = 1.0f;  ///< > 0, over prompt and output
  std::uint64_t seed = 0;           ///< already one per choice (`choice_seed`)
  std::uint32_t max_tokens = 0;     ///< output tokens at most; already cut to the context
  std::uint32_t min_tokens = 0;     ///< no end token before so many
  bool ignore_eos = false;          ///< end tokens of the model do not stop
  std::vector<std::pair<token_id, float>> logit_bias;  ///< sorted by token, ids in range
  std::vector<token_id> stop_token_ids;                ///< sorted; beside the model's own
  std::vector<token_id> allowed_token_ids;             ///< sorted; empty allows all
  std::vector<std::vector<token_id>> bad_words;        ///< token sequences never completed
  std::optional<std::uint32_t> logprobs;  ///< top entries beside the chosen one; 0 = chosen only
  std::optional<std::uint32_t> prompt_logprobs;  ///< the same for prompt positions
};

}  // namespace glimmer
