// The committing half of the scheduler: what a step brought, and what follows from it.
#include <algorithm>
#include <functional>

#include "base/assert.hpp"
#include "scheduler/scheduler.hpp"
#include "scheduler/stop.hpp"

namespace glimmer {

namespace {

/// A sequence that should have got a token so many times in a row, and did not, ends.
constexpr std::uint32_t fruitless_steps_max = 64;

/// The entry of `result` about a sequence; usually it stands where the plan had it.
sequence_tokens& entry_of(step_result& result, std::size_t at, sequence_id id) {
  if (result.sequences[at].id == id) return result.sequences[at];
  const auto found = std::ranges::find(result.sequences, id, &sequence_tokens::id);
  GLIMMER_ASSERT(found != result.sequences.end(), "a result tells about every planned sequence");
  return *found;
}

}  // namespace

committed scheduler::commit(step_result result, time_point now) {
  GLIMMER_ASSERT(step_ && step_->id == result.id, "a result answers the plan in flight");
  GLIMMER_ASSERT(result.sequences.size() == step_->rows.size(),
                 "a result tells about every planned sequence once");
  const auto step = std::move(*step_);
  step_.reset();
  committed out;
  out.outputs.reserve(step.rows.size());
  std::size_t stream_tokens = 0;
  for (std::size_t i = 0; i < step.rows.size(); ++i) {
    const auto& rows = step.rows[i];
    auto& got = entry_of(result, i, rows.owner->id);
    if (rows.count - rows.drafts == 1) stream_tokens += got.tokens.size();
    apply(rows, got, now, out);
  }
  learn(step, {.tokens = stream_tokens, .time = now - step.planned});
  ++counters_.steps;
  counters_.last_progress = now;
  had_work_ = has_work();
  out.finished = take_finished();
  return out;
}

// What the step cost, and what it brought for that.
void scheduler::learn(const step_in_flight& step, step_yield brought) {
  const auto [tokens, time] = brought;
  pace_.observe({.streams = step.streams, .prompt_rows = step.prompt_rows, .time = time});
  if (config_.drafting.tokens_max == 0) return;
  last_step_ = {.id = step.id, .time = time, .prompt_rows = step.prompt_rows};
  if (step.draft_rows > 0) counters_.drafting.verify_time += time;
  lengths_.observe(verify_cost{.streams = step.streams,
                               .draft_rows = step.draft_rows,
                               .prompt_rows = step.prompt_rows,
                               .tokens = static_cast<std::uint32_t>(tokens),
                               .time = time});
}

void scheduler::apply(const planned_rows& rows, sequence_tokens& got, time_point now,
                      committed& out) {
  auto& s = *rows.owner;
  counters_.computed_tokens += rows.count;
  s.in_step = false;
  if (s.state == sequence_state::ended) return retire(s);
  if (got.failed) return finish(s, {.cause = end_cause::error});
  advance(s, rows, got.tokens.size());
  const auto sampled = static_cast<std::uint32_t>(got.tokens.size());
  if (!s.followers.empty() && s.computed >= s.prompt_size()) fork_followers(s);
  sequence_output output{.id = s.id,
                         .request = s.request,
                         .first_index = static_cast<std::uint32_t>(s.output.size()),
                         .cached_tokens = s.cached};
  tell_prompt(s, got, rows, output);
  const auto why = deliver(s, got, output);
  count_round(rows, {.sampled = sampled, .kept = output.tokens.size()});
  if (!output.tokens.empty() || !output.prompt_logprobs.empty()) {
    out.outputs.push_back(std::move(output));
  }
  s.computed = std::min(s.computed, s.total());  // rows behind an end found in this step are void
  note_for_draft(s, rows);
  blocks_.remember(s.blocks, s.tokens(), *s.cache_salt, s.computed);
  if (why) return finish(s, *why);
  if (!s.in_draft) blocks_.release_passed(s.blocks, s.computed);
  if (s.window == 0) queues_.park(s, now);
}

// Of a row's drafts only the accepted ones count as computed; the last token is never computed in
// the step that samples it. A row that should have given a token and did not is computed again.
void scheduler::advance(sequence& s, const planned_rows& rows, std::size_t tokens) {
  const std::size_t tokens_max = rows.sample ? rows.drafts + 1 + rows.ahead : 0;
  GLIMMER_ASSERT(tokens <= tokens_max, "no more tokens than the plan has room for");
  const auto known = rows.position + rows.count - rows.drafts;
  if (!rows.sample) {
    s.computed = known;
    return;
  }
  s.computed = known - 1 + static_cast<std::uint32_t>(tokens);
  s.fruitless_steps = tokens == 0 ? s.fruitless_steps + 1 : 0;
}

std::optional<scheduler::ending> scheduler::deliver(sequence& s, sequence_tokens& got,
                                                    sequence_output& out) {
  if (s.output_max == 0 && s.computed == s.prompt_size()) {
    return ending{.cause = end_cause::length};
  }
  if (s.fruitless_steps >= fruitless_steps_max) return ending{.cause = end_cause::error};
  const stop_rules rules{
      .end_tokens = config_.end_tokens, .params = s.params.get(), .output_max = s.output_max};
  std::optional<ending> why;
  std::size_t kept = 0;
  while (kept < got.tokens.size() && !why) {
    const auto token = got.tokens[kept++];
    const auto cause = stop_cause(rules, token, static_cast<std::uint32_t>(s.output.size()));
    s.output.push_back(token);
    if (cause) why = ending{.cause = *cause};
    if (cause == end_cause::stop_token) why->stop_token = token;
  }
  GLIMMER_ASSERT(kept <= s.window, "no more tokens are drafted than the window holds");
  s.window -= static_cast<std::uint32_t>(kept);
  counters_.generated_tokens += kept;
  got.tokens.resize(kept);
  got.logprobs.resize(std::min(kept, got.logprobs.size()));
  out.tokens = std::move(got.tokens);
  out.logprobs = std::move(got.logprobs);
  return why;
}

// A preempted sequence computes prompt rows again; what was told once is not told twice.
void scheduler::tell_prompt(sequence& s, sequence_tokens& got, const planned_rows& rows,
                            sequence_output& out) {
  for (std::size_t i = 0; i < got.prompt_logprobs.size(); ++i) {
    const auto token = rows.position + 1 + static_cast<std::uint32_t>(i);
    if (token < s.prompt_told || token >= s.prompt_size()) continue;
    out.prompt_logprobs.push_back(std::move(got.prompt_logprobs[i]));
    s.prompt_told = token + 1;
  }
}

void scheduler::fail_step(step_id id, time_point now) {
  if (!step_ || step_->id != id) return;
  const auto step = std::move(*step_);
  step_.reset();
  for (const auto& rows : step.rows) {
    auto& s = *rows.owner;
    s.in_step = false;
    if (s.state == sequence_state::ended) {
      retire(s);
    } else {
      finish(s, {.cause = end_cause::error});
    }
  }
  counters_.last_progress = now;
  had_work_ = has_work();
}

void scheduler::restart(time_point now) {
  forget_draft();
  if (step_) {
    for (const auto& rows : step_->rows) {
      rows.owner->in_step = false;
      rows.owner->on_executor = false;
      if (rows.owner->state == sequence_state::ended) retire(*rows.owner);
    }
    step_.reset();
  }
  std::vector<sequence*> holders;
  for (const auto& [id, s] : sequences_) {
    s->on_executor = false;
    if (!s->blocks.empty() || s->state == sequence_state::running) holders.push_back(s.get());
  }
  std::ranges::sort(holders, served_before{});
  for (auto* s : holders) preempt(*s);
  blocks_.forget_unused();
  dropped_.clear();
  counters_.last_progress = now;
  had_work_ = has_work();
}

}  // namespace glimmer
