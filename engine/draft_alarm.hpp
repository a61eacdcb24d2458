#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "scheduler/drafting.hpp"

namespace glimmer {

/// Says once when drafting brings nothing. Nearly every fault of a draft head leaves the text right
/// and shows in nothing else.
class draft_alarm {
 public:
  static constexpr std::uint64_t rounds_min = 64;

  /// Looks at the rounds since the last look that found enough of them. Returns the warning.
  std::optional<std::string> look(const drafting_stats& stats);

 private:
  std::uint64_t rounds_ = 0;    // up to the last look
  std::uint64_t accepted_ = 0;  // likewise
  bool told_ = false;
};

}  // namespace glimmer
