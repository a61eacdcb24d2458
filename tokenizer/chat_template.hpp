#pragma once

#include <string_view>

#include "base/request.hpp"
#include "tokenizer/prompt_pieces.hpp"

namespace glimmer {

/// Lays a conversation out as the model was trained to read it: BOS, a system block, one framed
/// message per turn, and the opening of the answer. `server_date` is YYYY-MM-DD, empty without a
/// clock. Pure; byte for byte the publisher's template.
prompt_pieces render_chat(const chat_prompt& chat, std::string_view server_date);

/// Is this the chat_template.jinja that `render_chat` reproduces? Another one has drifted from it
/// without a sound; whoever loads a checkpoint says so loudly.
bool is_known_chat_template(std::string_view jinja);

}  // namespace glimmer
