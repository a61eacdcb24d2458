#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace glimmer {

/// How long a step may take. Zero means without a bound.
struct step_pace_config {
  duration step_time_max{};  ///< of one step
  /// Part of its solo rate that a running stream keeps beside prompts, in percent: 50 lets a step
  /// with prompts take twice the time of one without.
  std::uint32_t decode_floor_percent = 0;
};

/// What a step was, and what it cost.
struct step_cost {
  std::uint32_t streams = 0;      ///< sequences with one row left to compute
  std::uint32_t prompt_rows = 0;  ///< all other rows
  duration time{};
};

/// Learns what steps cost and bounds the prompt rows of the next one:
///
///     time of a step = time of its streams + prompt rows * time of a prompt row
///
/// Chunk sizes never change a result (the engine is batch invariant), so a bound that depends on
/// measured time may.
class step_pace {
 public:
  explicit step_pace(const step_pace_config& config) : config_{config} {}

  void observe(const step_cost& cost);
  /// Prompt rows of a step with `streams` decoding sequences; at least some, so that no prompt
  /// starves, and no bound before anything was measured.
  std::uint32_t prompt_rows_max(std::uint32_t streams) const;

 private:
  static constexpr std::uint32_t prompt_rows_min = 4;
  duration time_allowed(std::uint32_t streams) const;

  step_pace_config config_;
  double stream_step_ = 0;  // ns of a step without prompts, learned; 0 = not yet
  double prompt_row_ = 0;   // ns of one more prompt row, learned; 0 = not yet
};

}  // namespace glimmer
