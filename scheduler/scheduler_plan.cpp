// The planning half of the scheduler: who is in the next step, with how many rows, on which
// blocks.
#include <algorithm>

#include "base/assert.hpp"
#include "scheduler/scheduler.hpp"

namespace glimmer {

namespace {

block_need sum(block_need a, block_need b) {
  return {a[0] + b[0], a[1] + b[1]};
}
block_need difference(block_need a, block_need b) {
  return {a[0] - b[0], a[1] - b[1]};
}
bool fits(block_need wanted, block_need available) {
  return wanted[0] <= available[0] && wanted[1] <= available[1];
}

}  // namespace

std::optional<step_plan> scheduler::plan(time_point now) {
  expire(now);
  if (!had_work_) counters_.last_progress = now;
  had_work_ = has_work();
  if (step_ || waits_for_drafts(now)) return std::nullopt;
  step_builder step{{.id = {steps_ + 1}, .rows = {}, .planned = now}, last_sizes_};
  while (step.empty() && has_work()) {
    admit_waiting();
    plan_running(step);
  }
  if (step.empty()) return std::nullopt;
  auto [plan, note] = step.finish(std::exchange(dropped_, {}));
  last_sizes_ = {.sequences = plan.sequences.size() + 1,
                 .tokens = plan.tokens.size() + 1,
                 .blocks = plan.blocks.size() + 2 * plan.sequences.size()};
  step_ = std::move(note);
  ++steps_;
  return plan;
}

// What a sequence should find room for before it starts: all its tokens, and one block or the
// drafts of one step to grow.
std::uint64_t scheduler::positions_wanted(const sequence& s) const {
  const auto longest = std::uint64_t{s.prompt_size()} + std::max(s.output_max, 1u) - 1;
  const auto growth = std::max(config_.block_size, config_.drafting.tokens_max + 1);
  return std::min<std::uint64_t>(std::uint64_t{s.total()} + growth, longest);
}

block_need scheduler::needed(const sequence& s) const {
  return blocks_.missing(s.blocks, s.computed, positions_wanted(s));
}

// Log probabilities of prompt tokens come from computing their rows, never from a cache.
prefix_hit scheduler::hit_of(const sequence& s) const {
  const bool must_tell = s.params->prompt_logprobs && s.prompt_told < s.prompt_size();
  if (!s.blocks.empty() || must_tell) return {};
  return blocks_.find_prefix(s.tokens(), *s.cache_salt);
}

// In order of service until one does not fit, so that nobody is overtaken. What the running ones
// still need for their own tokens is set aside first: a prompt that starts is not preempted by
// the prompts before it.
void scheduler::admit_waiting() {
  const auto has_slot = [&] { return queues_.running().size() < config_.max_num_seqs; };
  if (queues_.waiting().empty() || !has_slot()) return;
  block_need reserved{};
  std::uint32_t prompts = 0;
  for (const auto* s : queues_.running()) {
    reserved = sum(reserved, needed(*s));
    prompts += s->pending() > 1;
  }
  while (!queues_.waiting().empty() && has_slot()) {
    auto& s = **queues_.waiting().begin();
    const bool is_prompt = s.pending() > 1;
    if (is_prompt && prompts >= config_.max_partial_prefills) return;
    const auto hit = make_room(s, reserved);
    if (!hit) return;
    start(s, *hit);
    reserved = sum(reserved, needed(s));
    prompts += is_prompt;
  }
}

// Blocks of slow readers are taken for those who can go on; when nobody runs at all, the first in
// line gets whatever it needs.
std::optional<prefix_hit> scheduler::make_room(sequence& s, block_need reserved) {
  for (;;) {
    auto hit = hit_of(s);
    const auto wanted =
        hit.blocks > 0 ? blocks_.missing_after(hit, positions_wanted(s)) : needed(s);
    if (fits(sum(wanted, reserved), blocks_.available())) return hit;
    const bool alone = queues_.running().empty();
    auto* victim = alone ? queues_.resting_victim_for(s) : queues_.parked_victim();
    GLIMMER_ASSERT(victim || !alone, "an admitted sequence fits the pools by itself");
    if (!victim) return std::nullopt;
    preempt(*victim);
  }
}

// Rows first, then blocks: the rows are split with the decoding streams served first, the blocks
// are taken in order of service. So whoever must yield blocks has no rows in this step yet, and
// the first in order always gets on.
void scheduler::plan_running(step_builder& step) {
  const std::vector<sequence*> order{queues_.running().begin(), queues_.running().end()};
  std::vector<token_demand> demands;
  demands.reserve(order.size());
  block_need spared{};  // one row of each sequence still to come
  std::vector<block_need> next_rows;
  next_rows.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& s = *order[i];
    demands.push_back({.tokens = s.pending()});
    next_rows.push_back(blocks_.missing_for_row(s.blocks, s.computed));
    spared = sum(spared, next_rows.back());
  }
  auto drafts_left = draft_rows(order);
  split_tokens(row_budget(demands, {drafts_left}), demands);
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto& s = *order[i];
    spared = difference(spared, next_rows[i]);
    if (s.state != sequence_state::running) continue;  // had to yield
    // A stream's next token mostly finds room in the block it has.
    const bool has_room =
        demands[i].tokens == 1 && demands[i].granted == 1 && next_rows[i] == block_need{};
    const auto rows = has_room ? 1 : back_rows(s, demands[i].granted, spared);
    if (rows == 0) continue;
    const auto drafts = s.drafts.empty() ? 0 : back_drafts(s, drafts_left, spared);
    drafts_left -= drafts;
    const auto ahead = drafts > 0 ? 0 : back_ahead(s, rows, spared);
    const auto positions = rows + drafts + ahead;
    if (!has_room || positions > 1) blocks_.extend(s.blocks, s.computed, positions, step.copies());
    step.add(s, {.count = rows, .drafts = drafts, .ahead = ahead});
  }
}

// Rows of a step: bounded by the config, and its prompt rows by time. Everybody has room for one.
std::uint32_t scheduler::row_budget(std::span<const token_demand> demands,
                                    rows_set_aside aside) const {
  const auto everybody = static_cast<std::uint32_t>(demands.size());
  const auto streams =
      static_cast<std::uint32_t>(std::ranges::count(demands, 1u, &token_demand::tokens));
  const auto prompt_rows = std::max(pace_.prompt_rows_max(streams), everybody - streams);
  return std::min<std::uint64_t>(config_.max_num_batched_tokens - aside.rows,
                                 std::uint64_t{streams} + prompt_rows);
}

// How many of `rows` can be written, preempting others for the first block if it must be. Zero
// means that the sequence itself had to yield.
std::uint32_t scheduler::back_rows(sequence& s, std::uint32_t rows, block_need spared) {
  if (const auto backed = blocks_.rows_backed(s.blocks, s.computed, rows, spared)) {
    return backed == s.pending() ? backed
                                 : whole_block_rows({s.computed, backed}, config_.block_size);
  }
  const auto one_block = std::min(rows, config_.block_size - s.computed % config_.block_size);
  for (;;) {
    if (const auto backed = blocks_.rows_backed(s.blocks, s.computed, one_block)) return backed;
    auto* victim = queues_.victim_for(s);
    if (!victim) break;
    preempt(*victim);
  }
  preempt(s);
  return 0;
}

// Room for the tokens that the device may sample behind the first one. It is never worth
// preempting anybody: without it the sequence gets on, a token a step. While others wait for the
// prompt nothing goes ahead: they will share its last block, so that must hold nothing else.
std::uint32_t scheduler::back_ahead(const sequence& s, std::uint32_t rows,
                                    block_need spared) const {
  if (config_.tokens_per_step_max == 1 || s.output_max == 0 || rows < s.pending()) return 0;
  if (!s.followers.empty()) return 0;
  const auto output_left = s.output_max - static_cast<std::uint32_t>(s.output.size());
  const auto wanted = rows - 1 + std::min({config_.tokens_per_step_max, s.window, output_left});
  return std::max(rows, blocks_.rows_backed(s.blocks, s.computed, wanted, spared)) - rows;
}

}  // namespace glimmer
