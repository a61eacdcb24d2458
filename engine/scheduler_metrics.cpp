#include "engine/scheduler_metrics.hpp"

#include <algorithm>
#include <string>

namespace glimmer {
namespace {

constexpr const char* group_names[] = {"full", "sliding"};

void tell(metrics& into, metric id, const metric_labels& labels, double value) {
  into.set(into.series(id, labels), value);
}

}  // namespace

void count_scheduler(metrics& into, const scheduler_stats& stats, const scheduler_stats& before) {
  tell(into, metric::requests_running, {}, stats.running);
  tell(into, metric::requests_waiting, {}, stats.waiting);
  tell(into, metric::parked_sequences, {}, stats.parked);
  const auto cached = static_cast<double>(stats.cached_tokens - before.cached_tokens);
  const auto started = static_cast<double>(stats.prompt_tokens - before.prompt_tokens);
  const auto& by_source = metric::prompt_tokens_by_source;
  into.add(into.series(by_source, {{"source", "local_compute"}}), started - cached);
  into.add(into.series(by_source, {{"source", "local_cache_hit"}}), cached);
  into.add(into.series(metric::prefix_cache_queries), started);
  into.add(into.series(metric::prefix_cache_hits), cached);
  into.add(into.series(metric::preemptions),
           static_cast<double>(stats.preemptions - before.preemptions));
  double fullest = 0;
  for (std::size_t group = 0; group < stats.blocks.size(); ++group) {
    const auto& blocks = stats.blocks[group];
    if (blocks.all > 0) fullest = std::max(fullest, double(blocks.used) / blocks.all);
    const std::string name = group_names[group];
    tell(into, metric::kv_blocks, {{"group", name}, {"state", "free"}}, blocks.free);
    tell(into, metric::kv_blocks, {{"group", name}, {"state", "cached"}}, blocks.cached);
    tell(into, metric::kv_blocks, {{"group", name}, {"state", "active"}}, blocks.used);
  }
  tell(into, metric::kv_cache_usage, {}, fullest);
}

}  // namespace glimmer
