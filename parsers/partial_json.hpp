#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace glimmer {

/// Strict JSON without numbers that no double can hold; nullopt if `text` is anything else.
std::optional<json> read_strict_json(std::string_view text);

/// Reads a JSON object or array the way models damage it and returns it as strict JSON: raw
/// control characters in strings, trailing commas, single-quoted strings and True, False, None are
/// accepted. `text` is UTF-8. nullopt if it still is none or is nested too deeply.
std::optional<std::string> repair_json(std::string_view text);

}  // namespace glimmer
