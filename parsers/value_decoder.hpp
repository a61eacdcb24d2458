#pragma once

#include <string>
#include <string_view>

#include "base/request.hpp"

namespace glimmer {

/// Which value is decoded: parameter `key` of `tool`, which is null when nothing is declared.
struct parameter_place {
  const tool_definition* tool = nullptr;
  std::string_view key;
};

/// Appends the JSON of a parameter whose text is `raw` (UTF-8), read by its schema: listed members
/// first, strings as they are, other types from their text, JSON where the schema does not say,
/// and a string when nothing fits. Always appends exactly one valid JSON value.
void append_value(std::string& out, std::string_view raw, const parameter_place& place);

}  // namespace glimmer
