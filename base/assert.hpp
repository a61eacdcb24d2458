#pragma once

#include <source_location>

namespace glimmer {

/// Prints the broken condition with its place and ends the process.
[[noreturn]] void assertion_failed(const char* condition, const char* why,
                                   std::source_location where);

}  // namespace glimmer

/// Checks one of our own invariants; stays on in release. Never for a client's input.
/// The second argument says, in words, what was believed.
#define GLIMMER_ASSERT(condition, why) \
  ((condition) ? static_cast<void>(0)  \
               : ::glimmer::assertion_failed(#condition, why, std::source_location::current()))
