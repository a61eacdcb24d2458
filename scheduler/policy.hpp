#pragma once

#include <compare>
#include <cstdint>

namespace glimmer {

/// Who comes first: by priority, then by the client's fair share, then by arrival. Given once, at
/// admission, and kept through preemption and parking, so that nobody loses their place. The
/// smaller key is served first and preempted last; keys are unique.
struct queue_key {
  std::int32_t priority = 0;  ///< lower is sooner
  std::uint64_t place = 0;    ///< dealt out by fair_share
  std::uint64_t arrival = 0;  ///< counts admitted sequences
  friend constexpr auto operator<=>(queue_key, queue_key) = default;
};

}  // namespace glimmer
