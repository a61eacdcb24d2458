#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/request.hpp"
#include "base/result.hpp"
#include "protocol/openai/request_fields.hpp"

namespace glimmer {

/// The conversation of a chat request, ready for the template: `messages`, `tools`,
/// `chat_template_kwargs`, `reasoning_effort`, `continue_final_message`, `add_generation_prompt`
/// of the body `request`, other members are not looked at. Conversions:
/// - roles: developer is system, function is tool;
/// - content: string, list of parts (text, images, videos, bare strings) or null;
/// - arguments of calls in the history become objects: JSON text is parsed, none is {}, what
///   cannot be read is kept as {"_raw": TEXT};
/// - reasoning: `reasoning_content` if not empty, else `reasoning`;
/// - tools in the wrapped or the flat form;
/// - effort: none, minimal, low are low; xhigh, max are xhigh; a `reasoning_strength` among the
///   template's own arguments wins as it is.
/// Fails with the path of the first member that is wrong.
result<chat_prompt> parse_chat_prompt(const json& request, const limits& bounds = {});

/// The same inside a larger parse: refusals go to `request.wrong()`.
chat_prompt read_chat_prompt(const request_fields& request, const limits& bounds);

/// One message; its path is that of `message`.
chat_message read_chat_message(const request_fields& message, const limits& bounds);

/// The member `tools`. Definitions are copied out, so that they do not keep the body alive.
std::vector<tool_definition> read_tools(const request_fields& request, const limits& bounds);

/// Names go unescaped into headers and tags: `[A-Za-z0-9_.-]{1,128}`, neither "self" nor "user".
bool is_tool_name(std::string_view name);

}  // namespace glimmer
