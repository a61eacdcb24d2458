#pragma once

#include <array>
#include <cstdint>

#include "base/clock.hpp"
#include "scheduler/drafting.hpp"
#include "scheduler/sequence_output.hpp"
#include "scheduler/step.hpp"

namespace glimmer {

/// Blocks of one pool: free + cached + used = all.
struct block_counts {
  std::uint32_t all = 0;
  std::uint32_t free = 0;
  std::uint32_t cached = 0;  ///< unused, their contents kept for later prompts
  std::uint32_t used = 0;
};

/// The scheduler's state by value. Counters only grow.
struct scheduler_stats {
  std::uint32_t running = 0;        ///< sequences that hold a run slot
  std::uint32_t waiting = 0;        ///< sequences that want one
  std::uint32_t parked = 0;         ///< sequences whose window is used up
  std::uint64_t queued_tokens = 0;  ///< prompt tokens that wait for their first step
  std::array<block_counts, kv_group_count> blocks;

  std::uint64_t steps = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t admitted = 0;                             ///< sequences
  std::uint64_t refused = 0;                              ///< sequences
  std::array<std::uint64_t, end_cause_count> finished{};  ///< sequences, by end_cause
  std::uint64_t prompt_tokens = 0;                        ///< of requests whose prompt was started
  std::uint64_t cached_tokens = 0;                        ///< of those, found in the prefix cache
  std::uint64_t computed_tokens = 0;   ///< rows of all steps, recomputed ones included
  std::uint64_t generated_tokens = 0;  ///< delivered
  drafting_stats drafting;

  /// When a step last came back, or when work arrived at an idle scheduler. Work present and no
  /// progress for seconds: something below is stuck.
  time_point last_progress{};
  bool has_work = false;  ///< something could run: running or waiting, not only parked
  bool step_in_flight = false;
};

}  // namespace glimmer
