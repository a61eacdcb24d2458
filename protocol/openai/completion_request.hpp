#pragma once

#include <string_view>
#include <vector>

#include "base/request.hpp"
#include "base/result.hpp"
#include "protocol/openai/chat_request.hpp"

namespace glimmer {

/// A completions request: several prompts that share everything else.
struct completion_request {
  generation_request shared;  ///< `prompt` is not set
  std::vector<prompt_source> prompts;
};

/// Reads the body of POST /v1/completions, as `parse_chat_request` reads a chat.
///
/// `prompt` is a string, a list of strings, a list of token ids, or a list of such lists. With
/// `echo` and `logprobs` the prompt is scored; `max_tokens` may then be 0. Without it the answer
/// has 16 tokens. `suffix` is refused.
result<completion_request> parse_completion_request(std::string_view body,
                                                    const request_rules& rules);

}  // namespace glimmer
