#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "protocol/openai/answer_writer.hpp"

namespace glimmer {

/// Pieces of JSON that chat and completions answers share. All append.

/// [1,2,3]
void append_tokens(std::string& out, std::span<const token_id> tokens);

/// ,"finish_reason":"stop","stop_reason":null
void append_end(std::string& out, const choice_end& end);

/// null for the first token, {"ID":{"logprob","rank","decoded_token"},...} for each further one.
/// The rank of a token that is not among the best is not known: null.
void append_prompt_logprobs(std::string& out, std::span<const spelled_logprob> entries);

}  // namespace glimmer
