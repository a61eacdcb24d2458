#include "tokenizer/tool_block.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tokenizer/json_text.hpp"

namespace glimmer {

namespace {

constexpr std::string_view how_to_call =
    R"(In this environment you have access to a set of tools you can use to answer the user's )"
    R"(question.

You can invoke a function by writing a "<atem:function_calls>" block like the following:
<atem:function_calls>
<atem:invoke name="$FUNCTION_NAME">
<atem:parameter name="$PARAMETER_NAME">$PARAMETER_VALUE</atem:parameter>
...
</atem:invoke>
</atem:function_calls>

String and scalar parameters should be specified as is, while lists and objects should use JSON )"
    R"(format. Note that spaces for string values are not stripped. The output is not expected to )"
    R"(be valid XML and is parsed with regular expressions.
Here are the functions available in JSONSchema format:
)";

constexpr std::string_view example = R"(
Here's an example of how to call a function in the tool set:
(If the tool namespace is not specified, invoke the function directly as `example_function_name` )"
                                     R"(rather than `example_tool_name.example_function_name`)

to=example_tool_name.example_function_name

<atem:function_calls>
<atem:invoke name="example_tool_name.example_function_name">
<atem:parameter name="example_parameter_1">value_1</atem:parameter>
<atem:parameter name="example_parameter_2">This is the value for the second parameter
that can span
"multiple" lines
</atem:parameter>
</atem:invoke>
</atem:function_calls>)";

/// A tool's name up to the first dot, each once, in order of first use.
std::vector<std::string_view> namespaces(const chat_prompt& chat) {
  std::vector<std::string_view> out;
  std::unordered_set<std::string_view> known;
  for (const tool_definition& tool : chat.tools) {
    const std::string_view name = std::string_view{tool.name}.substr(0, tool.name.find('.'));
    if (known.insert(name).second) out.push_back(name);
  }
  return out;
}

std::string_view description_of(const chat_prompt& chat, std::string_view name) {
  const auto it = std::ranges::find(chat.namespace_descriptions, name,
                                    [](const auto& entry) { return entry.first; });
  return it != chat.namespace_descriptions.end() ? std::string_view{it->second} : "";
}

}  // namespace

std::string tool_block(const chat_prompt& chat) {
  if (chat.tools.empty()) return {};
  std::string out{how_to_call};
  out += "// Tool metadata\n";
  for (const std::string_view name : namespaces(chat)) {
    out += R"({"name": )";
    append_json_string(out, name);
    out += R"(, "description": )";
    append_json_string(out, description_of(chat, name));
    out += "}\n";
  }
  out += "// Function schemas\n";
  for (const tool_definition& tool : chat.tools) {
    out += R"({"name": )";
    append_json_string(out, tool.name);
    out += R"(, "description": )";
    append_template_json(out, tool.description);
    out += R"(, "parameters": )";
    append_template_json(out, tool.parameters);
    out += "}\n";
  }
  out += example;
  return out;
}

std::string recipient_line(const chat_prompt& chat) {
  std::string out = R"(# Valid recipients: "self", )";
  for (const std::string_view name : namespaces(chat)) {
    out += '"';
    out += name;
    out += R"(.*", )";
  }
  out += R"("user".)";
  return out;
}

}  // namespace glimmer
