#pragma once

#include <string>

#include "base/json.hpp"

namespace glimmer {

/// A schema's member as the prompt shows such a value and the model repeats it: strings as they
/// are, containers on one line with ", " and ": ", numbers in Python's spelling.
std::string member_text(const json& member);

}  // namespace glimmer
