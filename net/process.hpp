#pragma once

#include <cstddef>

namespace glimmer {

/// Raises the soft limit of open files to the hard one; returns what is allowed then. Each
/// connection needs one.
std::size_t raise_descriptor_limit();

}  // namespace glimmer
