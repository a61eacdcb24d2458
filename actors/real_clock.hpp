#pragma once

#include <chrono>
#include <thread>

#include "base/clock.hpp"

namespace glimmer {

/// The monotonic clock that event loops read too. Only shells ask.
inline time_point monotonic_now() {
  return {
      std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

/// Lets real time pass; for a device that only pretends to work.
inline void let_pass(duration time) {
  std::this_thread::sleep_for(time);
}

/// The wall clock, for `created` and the prompt's date.
inline unix_seconds wall_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace glimmer
