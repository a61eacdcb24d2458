#pragma once

#include <string>

#include "base/json.hpp"

namespace glimmer {

/// Appends `value` as JSON on one line as the model's template writes it: ", " and ": " between,
/// members in their order, nothing escaped that need not be, numbers as below.
void append_template_json(std::string& out, const json& value);

/// Appends a JSON number the way Python prints it: integers exactly, any length, "-0" as 0; all
/// others as doubles in shortest form ("1.0", "1e-05", "1e+16"; beyond the range "Infinity").
void append_template_number(std::string& out, const json& number);

}  // namespace glimmer
