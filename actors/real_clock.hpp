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

/// Lets real time pass until the monotonic clock shows the next multiple of `time` (> 0); for a
/// device that only pretends to work. Whoever watches from outside knows when its steps ended.
inline void let_pass(duration time) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::this_thread::sleep_until(std::chrono::steady_clock::time_point{(now / time + 1) * time});
}

/// The wall clock, for `created` and the prompt's date.
inline unix_seconds wall_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace glimmer
