#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "protocol/openai/chat_messages.hpp"

namespace glimmer {

namespace {

/// The value as a document of its own.
json copied_out(const json& value) {
  std::string text;
  json_writer{text}.value(value);
  auto copy = json::parse(text, std::numeric_limits<std::uint32_t>::max());
  GLIMMER_ASSERT(copy.has_value(), "what the writer writes can be read");
  return *std::move(copy);
}

tool_definition read_function(const request_fields& function) {
  tool_definition tool;
  const auto name = function.string("name");
  if (!name || !is_tool_name(*name)) {
    function.refuse("name",
                    "must have 1 to 128 letters, digits, '_', '.' or '-' and must not be \"self\" "
                    "or \"user\".");
  } else {
    tool.name = *name;
  }
  if (function.string("description")) tool.description = copied_out(*function.any("description"));
  if (function.object("parameters")) tool.parameters = copied_out(*function.any("parameters"));
  return tool;
}

tool_definition read_tool(const json& tool, const std::string& path, refusal& wrong) {
  if (!tool.is_object()) {
    wrong.add(
        bad_value(path, fmt::format("{} must be an object, not {}.", path, kind_in_words(tool))));
    return {};
  }
  const request_fields fields{tool, path, wrong};
  const auto type = fields.string("type");
  if (type && *type != "function") {
    fields.refuse_unsupported("type", "must be \"function\"; no other kind of tool is served.");
    return {};
  }
  // The flat form has the members of `function` beside `type`.
  if (const auto function = fields.object("function")) return read_function(*function);
  return read_function(fields);
}

}  // namespace

bool is_tool_name(std::string_view name) {
  constexpr std::size_t bytes_max = 128;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  return !name.empty() && name.size() <= bytes_max && name != "self" && name != "user" &&
         std::all_of(name.begin(), name.end(), allowed);
}

std::vector<tool_definition> read_tools(const request_fields& request, const limits& bounds) {
  std::vector<tool_definition> tools;
  const auto list = request.array("tools", bounds.tools);
  if (!list) return tools;
  tools.reserve(list->size());
  for (auto tool = list->first(); tool && !request.wrong().first; tool = tool->next()) {
    tools.push_back(
        read_tool(*tool, element_path(request.path_of("tools"), tools.size()), request.wrong()));
  }
  return tools;
}

}  // namespace glimmer
