#include "engine/scheduler_metrics.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace glimmer {
namespace {

constexpr const char* group_names[] = {"full", "sliding"};

void tell(metrics& into, metric id, const metric_labels& labels, double value) {
  into.set(into.series(id, labels), value);
}

/// A drafter's counts exist only where one is configured.
void count_drafting(metrics& into, const drafting_stats& d, const drafting_stats& before) {
  const auto grow = [&](metric id, const metric_labels& labels, double growth) {
    into.add(into.series(id, labels), growth);
  };
  const auto grown = [](std::uint64_t now, std::uint64_t was) {
    return static_cast<double>(now - was);
  };
  const auto seconds = [](duration time) { return std::chrono::duration<double>{time}.count(); };
  tell(into, metric::drafter_present, {}, d.present);
  tell(into, metric::draft_tokens_now, {}, d.tokens_now);
  grow(metric::drafts, {}, grown(d.rounds, before.rounds));
  grow(metric::draft_tokens, {}, grown(d.drafted, before.drafted));
  grow(metric::draft_tokens_accepted, {}, grown(d.accepted, before.accepted));
  grow(metric::draft_tokens_discarded, {}, grown(d.discarded, before.discarded));
  grow(metric::draft_blocks_full, {}, grown(d.full_rounds, before.full_rounds));
  grow(metric::draft_blocks_short_of_context, {}, grown(d.without_context, before.without_context));
  const auto lost = grown(d.plans_given_up, before.plans_given_up);
  grow(metric::draft_plans, {{"outcome", "given_up"}}, lost);
  grow(metric::draft_plans, {{"outcome", "answered"}}, grown(d.plans, before.plans) - lost);
  grow(metric::draft_seconds, {{"phase", "draft"}}, seconds(d.draft_time - before.draft_time));
  grow(metric::draft_seconds, {{"phase", "verify"}}, seconds(d.verify_time - before.verify_time));
  for (std::size_t i = 0; i < d.accepted_at.size(); ++i) {
    const metric_labels position{{"position", std::to_string(i)}};
    grow(metric::draft_tokens_accepted_per_position, position,
         grown(d.accepted_at[i], before.accepted_at[i]));
    grow(metric::drafts_per_position, position, grown(d.drafted_at[i], before.drafted_at[i]));
  }
  const auto lengths = into.series(metric::draft_length);
  for (std::size_t k = 0; k < d.lengths.size(); ++k) {
    const auto times = d.lengths[k] - before.lengths[k];
    if (times > 0) into.observe(lengths, static_cast<double>(k), times);
  }
}

/// {actor="parser", index="1"}, or the actor alone where there is one.
metric_labels actor_labels(std::uint32_t source) {
  if (source == metrics_source::scheduler) return {{"actor", "scheduler"}};
  if (source == metrics_source::supervisor) return {{"actor", "supervisor"}};
  constexpr std::pair<std::uint32_t, const char*> kinds[] = {
      {metrics_source::tokenizer, "tokenizer"},
      {metrics_source::frontend, "frontend"},
      {metrics_source::parser, "parser"}};  // the highest first number first
  const auto* kind = kinds;
  while (source < kind->first) ++kind;
  return {{"actor", kind->second}, {"index", std::to_string(source - kind->first)}};
}

}  // namespace

void count_mail(metrics& into, std::size_t waiting, std::uint32_t source) {
  tell(into, metric::actor_mailbox_depth, actor_labels(source), static_cast<double>(waiting));
}

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
  if (stats.drafting.configured) count_drafting(into, stats.drafting, before.drafting);
}

}  // namespace glimmer
