#pragma once

#include <cstddef>

namespace glimmer {

/// A peer that left must not end the process: writes then fail with an error instead. Call once,
/// before any socket.
void ignore_broken_pipes();

/// Raises the soft limit of open files to the hard one; returns what is allowed then. Each
/// connection needs one.
std::size_t raise_descriptor_limit();

}  // namespace glimmer
