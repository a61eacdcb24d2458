#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace glimmer {

/// Appends the JSON of a parameter whose text is `raw` (UTF-8), read by its schema: listed members
/// first, strings as they are, other types from their text, and a string when nothing fits. Always
/// appends exactly one valid JSON value. `root` is where local references look.
struct value_schema {
  std::optional<json> schema;  ///< nullopt: unknown, JSON where the text is JSON
  json root;
};
void append_value(std::string& out, std::string_view raw, const value_schema& schema);

}  // namespace glimmer
