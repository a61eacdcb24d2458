#pragma once

#include <array>
#include <cstdint>

#include "base/clock.hpp"

namespace glimmer {

/// What a step of so many rows takes, learned from steps that were run.
///
///     bins of rows   1 | 2 | 3 | 4-5 | 6-7 | 8-11 | 12-15 | 16-23 | ...
///
/// Each bin keeps a moving mean; between bins the curve is a line, and it never falls.
class cost_curve {
 public:
  struct cost {
    std::uint32_t rows = 0;  ///< at least 1
    duration time{};
  };
  void observe(const cost& seen);

  /// Steps of about `rows` rows were seen: enough of them to believe their mean.
  bool knows(std::uint32_t rows) const;
  /// Steps seen since the last one of about `rows` rows; all of them when there was none.
  std::uint64_t age(std::uint32_t rows) const;

  /// Nanoseconds. Beyond what was seen the line goes on (`expect`), or rises with the rows, which
  /// is the most a step can cost (`at_worst`). 0 when nothing was seen.
  double expect(std::uint32_t rows) const;
  double at_worst(std::uint32_t rows) const;

 private:
  static constexpr std::size_t bins_max = 48;
  static constexpr std::uint32_t seen_enough = 3;
  struct bin {
    double rows = 0;
    double time = 0;
    std::uint32_t count = 0;
    std::uint64_t last = 0;
  };
  struct point {
    double rows = 0;
    double time = 0;
  };
  static std::size_t bin_of(std::uint32_t rows);

  std::array<bin, bins_max> bins_{};
  std::uint64_t seen_ = 0;
};

}  // namespace glimmer
