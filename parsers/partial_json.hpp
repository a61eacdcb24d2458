#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glimmer {

/// Reads a JSON object or array the way models damage it, and returns strict JSON: raw control
/// characters in strings, trailing commas, single-quoted strings and True, False, None are
/// accepted. nullopt if it still is none, is nested too deeply, or has numbers no double can hold.
std::optional<std::string> repair_json(std::string_view text);

}  // namespace glimmer
