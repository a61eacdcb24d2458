#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/request.hpp"
#include "base/result.hpp"
#include "protocol/openai/chat_request.hpp"

namespace glimmer {

/// A request for the tokens of a text or of a chat.
struct tokenize_request {
  prompt_source prompt;
  bool return_strings = false;  ///< the tokens' texts too
};

/// Reads the body of POST /tokenize: `prompt` and `add_special_tokens`, or the members of a chat
/// that the template reads; `return_token_strs` with both.
result<tokenize_request> parse_tokenize_request(std::string_view body, const request_rules& rules);

/// Reads the body of POST /detokenize: `tokens`.
result<std::vector<token_id>> parse_detokenize_request(std::string_view body,
                                                       const request_rules& rules);

/// A prompt as it was encoded.
struct tokenized_prompt {
  std::span<const token_id> tokens;
  std::uint64_t context_tokens = 0;
};
/// {"count","max_model_len","tokens","token_strs"}; no strings is null.
std::string tokenize_body(const tokenized_prompt& prompt, std::span<const std::string> strings);
/// {"prompt"}. The text may be broken UTF-8.
std::string detokenize_body(std::string_view text);
/// {"prompt","prompt_token_ids","count","max_model_len"}.
std::string render_body(const tokenized_prompt& prompt, std::string_view text);

}  // namespace glimmer
