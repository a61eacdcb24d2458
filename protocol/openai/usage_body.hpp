#pragma once

#include <string>

#include "base/events.hpp"

namespace glimmer {

/// Appends the usage object; the details are always there.
void append_usage(std::string& out, const sequence_usage& usage);

}  // namespace glimmer
