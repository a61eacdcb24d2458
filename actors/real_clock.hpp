#pragma once

#include <chrono>

#include "base/clock.hpp"

namespace glimmer {

/// The monotonic clock that event loops read too. Only shells ask.
inline time_point monotonic_now() {
  return {
      std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

/// The wall clock, for `created` and the prompt's date.
inline unix_seconds wall_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace glimmer
