#pragma once

#include <string>

#include "base/request.hpp"

namespace glimmer {

/// The part of a system block that lists the tools and shows how to call one; empty without tools.
std::string tool_block(const chat_prompt& chat);

/// The line that names everyone a message may be addressed to.
std::string recipient_line(const chat_prompt& chat);

}  // namespace glimmer
