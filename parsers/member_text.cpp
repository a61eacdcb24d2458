#include "parsers/member_text.hpp"

#include "parsers/number_text.hpp"

namespace glimmer {

namespace {

void append_text(std::string& out, const json& value) {
  switch (value.type()) {
    case json::kind::null: out += "null"; return;
    case json::kind::boolean: out += value.boolean() ? "true" : "false"; return;
    case json::kind::number: append_prompt_number(out, value.number_text()); return;
    case json::kind::string: append_json_string(out, value.string()); return;
    case json::kind::array:
    case json::kind::object: break;
  }
  const bool object = value.is_object();
  out += object ? '{' : '[';
  bool first = true;
  for (auto child = value.first(); child; child = child->next()) {
    if (!first) out += ", ";
    first = false;
    if (object) {
      append_json_string(out, child->key());
      out += ": ";
    }
    append_text(out, *child);
  }
  out += object ? '}' : ']';
}

}  // namespace

std::string member_text(const json& member) {
  if (member.is_string()) return std::string{member.string()};
  std::string out;
  append_text(out, member);
  return out;
}

}  // namespace glimmer
