#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/sampling_params.hpp"

namespace glimmer {

/// One answer to a prompt: its own stream with its own seed (`choice_seed`).
struct sequence_choice {
  sequence_id id;
  std::shared_ptr<const sampling_params> params;
};

/// One prompt with its `n` choices. The prompt is computed once, then the choices share its
/// blocks. A request with several prompts submits several of these under one request id.
struct sequence_request {
  request_id request;
  std::vector<sequence_choice> choices;                 ///< at least one
  std::shared_ptr<const std::vector<token_id>> prompt;  ///< at least one token
  std::uint32_t token_window = 256;    ///< tokens each choice may have on their way to the client
  std::int32_t priority = 0;           ///< lower is sooner
  std::string fairness_key;            ///< API key or user
  std::string cache_salt;              ///< prompts share blocks only under the same salt
  std::optional<time_point> deadline;  ///< every choice still alive then ends with `deadline`
};

/// What was accepted.
struct admission {
  /// Output tokens each choice can get at most: its max_tokens, cut to what the context and the
  /// KV pools hold.
  std::uint32_t output_max = 0;
};

}  // namespace glimmer
