#include "parsers/value_decoder.hpp"

#include <optional>
#include <vector>

#include "base/json.hpp"
#include "parsers/header.hpp"
#include "parsers/member_text.hpp"
#include "parsers/number_text.hpp"
#include "parsers/partial_json.hpp"
#include "parsers/tool_catalog.hpp"
#include "parsers/value_schema.hpp"

namespace glimmer {

namespace {

/// The text of one parameter, with and without the blanks around it.
struct value_text {
  std::string_view raw;
  std::string_view trimmed;
};

bool opens_container(std::string_view text) {
  return text.starts_with('{') || text.starts_with('[');
}

void append_json(std::string& out, const json& value) {
  json_writer{out}.value(value);
}

/// A member of `const` or `enum`: strings by the exact text first, then others by how the prompt
/// spells them.
bool append_listed(std::string& out, value_text text, const std::vector<json>& members) {
  for (const json& member : members) {
    if (!member.is_string() || member.string() != text.raw) continue;
    append_json(out, member);
    return true;
  }
  for (const json& member : members) {
    if (member.is_string() || member_text(member) != text.trimmed) continue;
    append_json(out, member);
    return true;
  }
  return false;
}

/// Where the schema does not say: JSON if it is JSON.
bool append_any(std::string& out, value_text text) {
  const auto value = read_strict_json(text.trimmed);
  if (value) append_json(out, *value);
  return value.has_value();
}

/// Where strings are allowed beside other types only null and containers leave the text.
bool append_beside_string(std::string& out, value_text text, type_set types) {
  if (types.has(type_set::null) && text.raw == "null") {
    out += "null";
    return true;
  }
  if (!opens_container(text.trimmed)) return false;
  const auto value = read_strict_json(text.trimmed);
  if (!value) return false;
  if (!types.has(value->is_object() ? type_set::object : type_set::array)) return false;
  append_json(out, *value);
  return true;
}

/// null, booleans, numbers and containers from their text; the first that fits.
bool append_typed(std::string& out, std::string_view text, type_set types) {
  const auto append_if = [&out](const std::optional<std::string>& value) {
    if (value) out += *value;
    return value.has_value();
  };
  if (types.has(type_set::null) && (text == "null" || text == "None")) {
    out += "null";
    return true;
  }
  if (types.has(type_set::boolean)) {
    const bool yes = text == "true" || text == "True";
    if (yes || text == "false" || text == "False") {
      out += yes ? "true" : "false";
      return true;
    }
  }
  const bool fractions = types.has(type_set::fraction);
  if (fractions && append_if(read_number(text))) return true;
  if ((fractions || types.has(type_set::integer)) && append_if(read_integer(text))) return true;
  return opens_container(text) && append_if(repair_json(text));
}

bool append_by_schema(std::string& out, value_text text, const parameter_place& place) {
  if (place.tool == nullptr) return append_any(out, text);
  const std::optional<json> schema = parameter_schema(*place.tool, place.key);
  if (!schema) return append_any(out, text);
  const json& root = place.tool->parameters;
  if (append_listed(out, text, listed_members(*schema, root))) return true;
  const std::optional<type_set> types = allowed_types(*schema, root);
  if (!types) return append_any(out, text);
  if (types->has(type_set::string)) return append_beside_string(out, text, *types);
  return append_typed(out, text.trimmed, *types);
}

}  // namespace

void append_value(std::string& out, std::string_view raw, const parameter_place& place) {
  if (!append_by_schema(out, {raw, trim_blanks(raw)}, place)) append_json_string(out, raw);
}

}  // namespace glimmer
