#include "parsers/value_schema.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "parsers/tool_catalog.hpp"

namespace glimmer {

namespace {

constexpr std::uint8_t number_bits = type_set::integer | type_set::fraction;

constexpr std::pair<std::string_view, std::uint8_t> type_names[] = {
    {"null", type_set::null},     {"boolean", type_set::boolean}, {"integer", type_set::integer},
    {"number", number_bits},      {"string", type_set::string},   {"array", type_set::array},
    {"object", type_set::object},
};

std::uint8_t named_type(const json& name) {
  if (!name.is_string()) return 0;
  for (const auto& [word, bits] : type_names) {
    if (word == name.string()) return bits;
  }
  return 0;
}

std::uint8_t type_of(const json& value) {
  switch (value.type()) {
    case json::kind::null: return type_set::null;
    case json::kind::boolean: return type_set::boolean;
    case json::kind::string: return type_set::string;
    case json::kind::array: return type_set::array;
    case json::kind::object: return type_set::object;
    case json::kind::number: break;
  }
  const bool fraction = value.number_text().find_first_of(".eE") != std::string_view::npos;
  return fraction ? number_bits : std::uint8_t{type_set::integer};
}

/// One step of a JSON pointer with its escapes (~0, ~1) undone.
std::string unescaped(std::string_view step) {
  std::string out;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const bool escape = step[i] == '~' && i + 1 < step.size();
    if (escape && step[i + 1] == '0') {
      out += '~', ++i;
    } else if (escape && step[i + 1] == '1') {
      out += '/', ++i;
    } else {
      out += step[i];
    }
  }
  return out;
}

std::optional<json> child(const json& node, const std::string& step) {
  if (node.is_object()) return node.find(step);
  const bool index =
      !step.empty() && step.size() < 7 &&
      std::all_of(step.begin(), step.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!node.is_array() || !index) return std::nullopt;
  const std::size_t at = std::stoul(step);
  if (at >= node.size()) return std::nullopt;
  return node.at(at);
}

/// What `#/a/b` points to in `root`.
std::optional<json> look_up(const json& root, std::string_view reference) {
  if (!reference.starts_with('#')) return std::nullopt;
  reference.remove_prefix(1);
  std::optional<json> node = root;
  while (node && reference.starts_with('/')) {
    reference.remove_prefix(1);
    const std::string_view step = reference.substr(0, reference.find('/'));
    reference.remove_prefix(step.size());
    node = child(*node, unescaped(step));
  }
  return reference.empty() ? node : std::nullopt;
}

/// Walks a schema with a bounded number of steps, so that no reference can trap it.
class walker {
 public:
  explicit walker(const json& root) : root_{root} {}

  std::optional<type_set> types(const json& schema);
  void members(const json& schema, std::vector<json>& out);
  std::optional<json> target(const json& schema);

 private:
  static constexpr std::uint32_t depth_max = 32;
  struct level {
    explicit level(walker& w) : owner{w} { ++owner.depth_; }
    ~level() { --owner.depth_; }
    walker& owner;
  };

  bool spend() { return depth_ <= depth_max && fuel_ > 0 && fuel_-- > 0; }
  std::optional<type_set> own_types(const json& schema);
  std::optional<type_set> listed_types(const json& schema);
  std::optional<type_set> union_types(const json& branches);
  std::optional<type_set> shared_types(const json& branches);

  const json& root_;
  std::uint32_t depth_ = 0;
  std::uint32_t fuel_ = 4096;
};

std::optional<json> walker::target(const json& schema) {
  const std::optional<json> reference = schema.find("$ref");
  if (!reference || !reference->is_string()) return std::nullopt;
  return look_up(root_, reference->string());
}

std::optional<type_set> walker::types(const json& schema) {
  const level here{*this};
  if (!spend() || !schema.is_object()) return std::nullopt;
  if (const auto own = own_types(schema)) return own;
  if (const auto referred = target(schema)) return types(*referred);
  return std::nullopt;
}

std::optional<type_set> walker::own_types(const json& schema) {
  if (const auto type = schema.find("type")) {
    std::uint8_t bits = named_type(*type);
    if (type->is_array()) {
      for (const json& name : type->elements()) bits |= named_type(name);
    }
    if (bits != 0) return type_set{bits};
  }
  if (const auto listed = listed_types(schema)) return listed;
  for (std::string_view key : {"anyOf", "oneOf"}) {
    const auto branches = schema.find(key);
    if (branches && branches->is_array() && branches->size() > 0) return union_types(*branches);
  }
  if (const auto branches = schema.find("allOf"); branches && branches->is_array()) {
    if (const auto shared = shared_types(*branches)) return shared;
  }
  if (schema.find("properties")) return type_set{type_set::object};
  if (schema.find("items") || schema.find("prefixItems")) return type_set{type_set::array};
  return std::nullopt;
}

std::optional<type_set> walker::listed_types(const json& schema) {
  if (const auto value = schema.find("const")) return type_set{type_of(*value)};
  const auto values = schema.find("enum");
  if (!values || !values->is_array() || values->size() == 0) return std::nullopt;
  type_set found;
  for (const json& value : values->elements()) found.bits |= type_of(value);
  return found;
}

std::optional<type_set> walker::union_types(const json& branches) {
  type_set all;
  for (const json& branch : branches.elements()) {
    const auto some = types(branch);
    if (!some) return std::nullopt;
    all.bits |= some->bits;
  }
  return all;
}

std::optional<type_set> walker::shared_types(const json& branches) {
  std::optional<type_set> shared;
  for (const json& branch : branches.elements()) {
    const auto some = types(branch);
    if (!some) continue;
    if (!shared) shared = some;
    shared->bits &= some->bits;
  }
  return shared;
}

void walker::members(const json& schema, std::vector<json>& out) {
  const level here{*this};
  if (!spend() || !schema.is_object()) return;
  if (const auto value = schema.find("const")) out.push_back(*value);
  if (const auto values = schema.find("enum"); values && values->is_array()) {
    for (json& value : values->elements()) out.push_back(std::move(value));
  }
  for (std::string_view key : {"anyOf", "oneOf"}) {
    const auto branches = schema.find(key);
    if (!branches || !branches->is_array()) continue;
    for (const json& branch : branches->elements()) members(branch, out);
  }
  if (const auto referred = target(schema)) members(*referred, out);
}

/// The object that says which parameters a tool has.
std::optional<json> parameters_object(const tool_definition& tool) {
  walker walk{tool.parameters};
  std::optional<json> schema = tool.parameters;
  for (int steps = 0; schema && steps < 8 && !schema->find("properties"); ++steps) {
    const auto referred = walk.target(*schema);
    if (!referred) break;
    schema = referred;
  }
  return schema;
}

}  // namespace

std::optional<type_set> allowed_types(const json& schema, const json& root) {
  return walker{root}.types(schema);
}

std::vector<json> listed_members(const json& schema, const json& root) {
  std::vector<json> out;
  walker{root}.members(schema, out);
  return out;
}

std::optional<json> parameter_schema(const tool_definition& tool, std::string_view key) {
  const auto parameters = parameters_object(tool);
  if (!parameters) return std::nullopt;
  if (const auto properties = parameters->find("properties")) {
    if (auto schema = properties->find(key)) return schema;
  }
  auto rest = parameters->find("additionalProperties");
  return rest && rest->is_object() ? rest : std::nullopt;
}

bool declares_parameter(const tool_definition& tool, std::string_view key) {
  const auto parameters = parameters_object(tool);
  const auto properties = parameters ? parameters->find("properties") : std::nullopt;
  return properties && properties->find(key);
}

}  // namespace glimmer
