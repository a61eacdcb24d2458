#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/metrics.hpp"
#include "scheduler/scheduler_stats.hpp"

namespace glimmer {

/// Who publishes metrics: several of a kind count from the first one's number.
struct metrics_source {
  static constexpr std::uint32_t scheduler = 0;
  static constexpr std::uint32_t supervisor = 1;
  static constexpr std::uint32_t parser = 1'000;
  static constexpr std::uint32_t frontend = 2'000;
  static constexpr std::uint32_t tokenizer = 3'000;
};

/// Tells how many messages wait for the actor that publishes as `source`, behind the one in hand.
void count_mail(metrics& into, std::size_t waiting, std::uint32_t source);

/// Writes the scheduler's state into `into`, under the names of protocol/metric_names. What only
/// grows is counted by its difference to `before`, the stats of the last call.
void count_scheduler(metrics& into, const scheduler_stats& stats, const scheduler_stats& before);

}  // namespace glimmer
