#pragma once

#include <string>
#include <vector>

#include "base/request.hpp"
#include "protocol/openai/chat_request.hpp"
#include "protocol/openai/request_fields.hpp"

namespace glimmer {

/// How tokens are chosen and counted: fills `sampling`, `has_seed`, `has_max_tokens`, `bad_words`,
/// `prompt_tokens_kept` and the log probabilities of `response`. What the request leaves open has
/// the server's default. `response.chat` and `response.stream` must be set: chats and completions
/// spell some members differently.
void read_sampling(const request_fields& request, const request_rules& rules,
                   generation_request& out);

/// The member `stop`: one string or several, none empty.
std::vector<std::string> read_stop_strings(const request_fields& request, const limits& bounds);

}  // namespace glimmer
