#pragma once

#include <string_view>

#include "base/request.hpp"
#include "tokenizer/prompt_pieces.hpp"

namespace glimmer {

/// Lays a conversation out as the model was trained to read it: BOS, a system block, one framed
/// message per turn, and the opening of the answer. `server_date` is YYYY-MM-DD, empty without a
/// clock. Pure; byte for byte the publisher's template.
prompt_pieces render_chat(const chat_prompt& chat, std::string_view server_date);

/// SHA-256 of the publisher's chat_template.jinja that `render_chat` reproduces, in lower-case hex.
constexpr std::string_view chat_template_sha256 =
    "cfc67e5f349f37690dfd31ed1f18bc4442a9dd32fe39a648f993cb4eb3cae678";

}  // namespace glimmer
