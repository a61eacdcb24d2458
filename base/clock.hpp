#pragma once

#include <chrono>
#include <cstdint>

namespace glimmer {

/// Time as a value. Cores receive it as an argument; only shells read the real clock.
using duration = std::chrono::nanoseconds;
/// Monotonic time since an arbitrary origin.
struct time_point {
  duration since_origin{};
  friend constexpr auto operator<=>(time_point, time_point) = default;
  friend constexpr time_point operator+(time_point t, duration d) { return {t.since_origin + d}; }
  friend constexpr duration operator-(time_point a, time_point b) {
    return a.since_origin - b.since_origin;
  }
};

/// Seconds since 1970-01-01 UTC, for the `created` fields and the date line of the prompt.
using unix_seconds = std::int64_t;

}  // namespace glimmer
