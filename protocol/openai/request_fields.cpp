#include "protocol/openai/request_fields.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/assert.hpp"

namespace glimmer {

namespace {

std::string in_words(integer_range range) {
  const integer_range all;
  if (range.low == all.low && range.high == all.high) return "an integer";
  if (range.high == all.high) return fmt::format("an integer of at least {}", range.low);
  return fmt::format("an integer from {} to {}", range.low, range.high);
}

}  // namespace

std::string element_path(std::string_view list, std::size_t index) {
  return fmt::format("{}[{}]", list, index);
}

std::optional<std::int64_t> whole_number(const json& value) {
  if (!value.is_number()) return std::nullopt;
  if (const auto integer = value.integer()) return integer;
  constexpr double exact = 9007199254740992.0;  // up to here a double holds every integer
  const double number = value.number();
  if (std::abs(number) > exact || number != std::trunc(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::string_view kind_in_words(const json& value) {
  switch (value.type()) {
    case json::kind::null: return "null";
    case json::kind::boolean: return "a boolean";
    case json::kind::number: return "a number";
    case json::kind::string: return "a string";
    case json::kind::array: return "an array";
    case json::kind::object: return "an object";
  }
  return "null";
}

request_fields::request_fields(json object, std::string path, refusal& wrong, std::size_t size_max)
    : object_{std::move(object)}, path_{std::move(path)}, wrong_{wrong} {
  GLIMMER_ASSERT(object_.is_object(), "only objects have fields");
  // Fields are found by walking; a flood of members must not make that slow.
  if (object_.size() > size_max) {
    refuse("", fmt::format("has {} members; at most {} are allowed.", object_.size(), size_max));
    object_ = *json::parse("{}");
  }
}

std::optional<json> request_fields::any(std::string_view name) const {
  auto value = object_.find(name);
  if (value && value->is_null()) return std::nullopt;
  return value;
}

std::optional<bool> request_fields::boolean(std::string_view name) const {
  const auto value = any(name);
  if (!value) return std::nullopt;
  if (value->is_boolean()) return value->boolean();
  refuse(name, fmt::format("must be true or false, not {}.", kind_in_words(*value)));
  return std::nullopt;
}

std::optional<std::string_view> request_fields::string(std::string_view name) const {
  const auto value = any(name);
  if (!value) return std::nullopt;
  if (value->is_string()) return value->string();
  refuse(name, fmt::format("must be a string, not {}.", kind_in_words(*value)));
  return std::nullopt;
}

std::optional<std::int64_t> request_fields::integer(std::string_view name,
                                                    integer_range range) const {
  const auto value = any(name);
  if (!value) return std::nullopt;
  const auto number = whole_number(*value);
  if (number && *number >= range.low && *number <= range.high) return number;
  if (value->is_number()) {
    refuse(name, fmt::format("must be {}.", in_words(range)));
  } else {
    refuse(name, fmt::format("must be {}, not {}.", in_words(range), kind_in_words(*value)));
  }
  return std::nullopt;
}

std::optional<double> request_fields::number(std::string_view name, number_range range) const {
  const auto value = any(name);
  if (!value) return std::nullopt;
  const auto allowed = fmt::format("must be a number from {} to {}", range.low, range.high);
  if (!value->is_number()) {
    refuse(name, fmt::format("{}, not {}.", allowed, kind_in_words(*value)));
    return std::nullopt;
  }
  const double number = value->number();
  if (number >= range.low && number <= range.high) return number;
  refuse(name, allowed + ".");
  return std::nullopt;
}

std::optional<json> request_fields::array(std::string_view name, std::size_t size_max) const {
  auto value = any(name);
  if (!value) return std::nullopt;
  if (!value->is_array()) {
    refuse(name, fmt::format("must be an array, not {}.", kind_in_words(*value)));
    return std::nullopt;
  }
  if (value->size() > size_max) {
    refuse(name, fmt::format("has {} entries; at most {} are allowed.", value->size(), size_max));
    return std::nullopt;
  }
  return value;
}

std::optional<request_fields> request_fields::object(std::string_view name,
                                                     std::size_t size_max) const {
  const auto value = any(name);
  if (!value) return std::nullopt;
  if (value->is_object()) return request_fields{*value, path_of(name), wrong_, size_max};
  refuse(name, fmt::format("must be an object, not {}.", kind_in_words(*value)));
  return std::nullopt;
}

std::string request_fields::path_of(std::string_view name) const {
  if (path_.empty()) return std::string{name};
  return name.empty() ? path_ : fmt::format("{}.{}", path_, name);
}

void request_fields::refuse(std::string_view name, const std::string& text) const {
  const auto path = path_of(name);
  wrong_.add(bad_value(path, fmt::format("{} {}", path.empty() ? "The body" : path, text)));
}

void request_fields::refuse_unsupported(std::string_view name, const std::string& text) const {
  const auto path = path_of(name);
  wrong_.add(
      {error_kind::bad_request, "unsupported_parameter", path, fmt::format("{} {}", path, text)});
}

}  // namespace glimmer
