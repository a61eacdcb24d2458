// The drafting part of the scheduler: what the draft head is asked between two steps, and what
// becomes of its proposals. Nothing here changes a token; it decides how many come in a step.
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "scheduler/scheduler.hpp"

namespace glimmer {

// --- The drafter ---------------------------------------------------------------------------

void scheduler::drafter_ready() {
  GLIMMER_ASSERT(config_.drafting.tokens_max > 0, "a drafter comes where drafting is configured");
  drafter_ = drafter_state::ready;
}

void scheduler::drafter_lost() {
  forget_draft();
  drafter_ = drafter_state::absent;
}

// Whoever answers too late may still be writing into blocks that belong to others by now. That is
// harmless: it is asked nothing until it has answered, so blocks filled meanwhile count as without
// rows of the head.
bool scheduler::waits_for_drafts(time_point now) {
  if (draft_ && draft_->planned + draft_->wait_max > now) return true;
  forget_draft();
  return false;
}

void scheduler::forget_draft() {
  if (draft_) {
    ++counters_.drafting.plans_given_up;
    drafter_ = drafter_state::late;
  }
  settle_draft();
}

// The rows are the drafter's no longer: what waited for it goes its way.
void scheduler::settle_draft() {
  draft_.reset();
  for (const auto& rows : std::exchange(drafted_, {})) {
    auto& s = *rows.owner;
    s.in_draft = false;
    if (s.state == sequence_state::ended) {
      retire(s);
    } else {
      blocks_.release_passed(s.blocks, s.computed);
    }
  }
}

// --- After a commit ------------------------------------------------------------------------

// Rejected drafts are computed rows too, of tokens that do not exist: only what is committed
// counts. A sequence that ends with this step keeps its blocks until the drafter was there: its
// prompt and answer may be a later prompt's beginning.
void scheduler::note_for_draft(sequence& s, const planned_rows& rows) {
  if (drafter_ != drafter_state::ready) return;
  const auto end = std::min(s.computed, rows.position + rows.count);
  drafted_.push_back(
      {.owner = &s, .row = rows.row, .position = rows.position, .count = end - rows.position});
  s.in_draft = true;
}

void scheduler::count_round(const planned_rows& rows, sampled_tokens tokens) {
  if (config_.drafting.tokens_max == 0 || !rows.sample || tokens.sampled == 0) return;
  auto& d = counters_.drafting;
  ++d.lengths[rows.drafts];
  if (rows.drafts == 0) return;
  const auto accepted = tokens.sampled - 1;
  ++d.rounds;
  d.full_rounds += accepted == rows.drafts;
  d.drafted += rows.drafts;
  d.accepted += accepted;
  d.discarded += tokens.sampled - tokens.kept;
  for (std::uint32_t i = 0; i < rows.drafts; ++i) {
    ++d.drafted_at[i];
    d.accepted_at[i] += i < accepted;
  }
  // What was drawn behind the end of a sequence says nothing about the drafter.
  const draft_round round{.drafted = tokens.sampled > tokens.kept
                                         ? static_cast<std::uint32_t>(tokens.kept)
                                         : rows.drafts,
                          .accepted = std::min(accepted, static_cast<std::uint32_t>(tokens.kept))};
  rows.owner->acceptance.observe(round);
  lengths_.observe(round);
}

// A round emits one token more than it accepts, and none of them may be one too many. Nothing is
// drafted behind a prompt's last token: other choices may wait for the block it is in.
std::uint32_t scheduler::draft_limit(const sequence& s) const {
  if (s.output.empty() || s.output_max <= s.output.size() || s.window == 0) return 0;
  if (s.pending() != 1) return 0;
  const auto left = s.output_max - static_cast<std::uint32_t>(s.output.size());
  return std::min({config_.drafting.tokens_max, left - 1, s.window - 1});
}

scheduler::draft_shape scheduler::shape_of(std::span<sequence* const> running) {
  draft_shape shape;
  for (const auto* s : running) ++(s->pending() == 1 ? shape.streams : shape.prompts);
  return shape;
}

// Rows of the next step for drafts: everybody has one row first, prompts get at least half of the
// rest, and all logits must fit.
std::uint32_t scheduler::draft_room(draft_shape shape) const {
  const auto everybody = shape.streams + shape.prompts;
  const auto rows = config_.max_num_batched_tokens - everybody;
  const auto logits = config_.drafting.verify_rows_max;
  return std::min(shape.prompts > 0 ? rows / 2 : rows, logits - std::min(logits, everybody));
}

std::optional<draft_plan> scheduler::plan_drafts(time_point now) {
  GLIMMER_ASSERT(!step_ && !draft_, "drafts are planned once, between two steps");
  if (drafted_.empty()) return std::nullopt;
  const auto lengths = choose_lengths();
  draft_plan plan{.id = last_step_.id, .sequences = {}, .blocks = {}};
  for (auto& rows : drafted_) {
    if (lengths.context) add_rows(plan, rows);
  }
  if (plan.sequences.empty()) {
    settle_draft();
    return std::nullopt;
  }
  ++counters_.drafting.plans;
  draft_ = {.id = plan.id,
            .planned = now,
            .wait_max = std::max(config_.drafting.wait_max, 4 * last_step_.time)};
  return plan;
}

// Sets what is asked for each sequence, and tells whether anything is to be written at all.
draft_decision scheduler::choose_lengths() {
  const auto shape = shape_of(queues_.running());
  std::vector<draft_candidate> candidates;
  std::vector<drafted_rows*> asked;
  for (auto& rows : drafted_) {
    const auto& s = *rows.owner;
    // A device that sampled ahead of its rows left no residuals for the tokens behind them.
    const bool complete = rows.position + rows.count == s.computed;
    if (s.state != sequence_state::running || s.pending() != 1 || !complete) continue;
    candidates.push_back({.tokens_max = draft_limit(s), .record = &s.acceptance});
    asked.push_back(&rows);
  }
  auto decision = lengths_.decide({.prompts = shape.prompts,
                                   .prompt_rows = shape.prompts > 0 ? last_step_.prompt_rows : 0,
                                   .room = draft_room(shape)},
                                  candidates);
  counters_.drafting.tokens_now = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    asked[i]->drafts = decision.tokens[i];
    counters_.drafting.tokens_now = std::max(counters_.drafting.tokens_now, decision.tokens[i]);
  }
  return decision;
}

// Rows that neither the head's next window nor a later prompt can reach are left out.
void scheduler::add_rows(draft_plan& plan, drafted_rows& rows) {
  const auto& s = *rows.owner;
  const bool ended = s.state == sequence_state::ended;
  if (!config_.prefix_caching) {
    const auto reach = config_.window + draft_tokens_max + 1;
    const auto needed_from = s.total() - std::min(s.total(), reach);
    const auto skipped =
        ended ? rows.count
              : std::min(rows.count, needed_from - std::min(needed_from, rows.position));
    rows.row += skipped;
    rows.position += skipped;
    rows.count -= skipped;
  }
  if (rows.count == 0 && rows.drafts == 0) return;
  const auto& held = s.blocks.groups[index_of(kv_group::sliding)];
  const auto anchor = rows.position + rows.count;
  const auto valid_from = blocks_.head_rows_from(s.blocks, rows.position);
  const auto window_begin = anchor - std::min(anchor, config_.window);
  counters_.drafting.without_context += rows.drafts > 0 && valid_from > window_begin;
  plan.sequences.push_back({.id = s.id,
                            .row = rows.row,
                            .count = rows.count,
                            .position = rows.position,
                            .valid_from = valid_from,
                            .anchor = anchor < s.total() ? s.token(anchor) : 0,
                            .drafts = rows.drafts,
                            .table = {.begin = static_cast<std::uint32_t>(plan.blocks.size()),
                                      .count = static_cast<std::uint32_t>(held.blocks.size()),
                                      .first_block = held.first_block}});
  plan.blocks.insert(plan.blocks.end(), held.blocks.begin(), held.blocks.end());
}

// --- The answer ----------------------------------------------------------------------------

void scheduler::take_drafts(const draft_result& result, time_point now) {
  if (!draft_ || draft_->id != result.id) {
    if (drafter_ == drafter_state::late) drafter_ = drafter_state::ready;
    return;
  }
  const auto time = now - draft_->planned;
  counters_.drafting.draft_time += time;
  std::uint32_t block_rows = 0;
  for (const auto& rows : drafted_) {
    if (rows.count > 0) {
      blocks_.note_head_rows(rows.owner->blocks, {rows.position, rows.position + rows.count});
    }
    if (rows.drafts > 0) block_rows += rows.drafts + 1;
  }
  lengths_.observe(draft_cost{.rows = block_rows, .time = time});
  for (const auto& proposal : result.sequences) {
    auto* s = find(proposal.id);
    if (!s || !s->in_draft || s->pending() != 1) continue;
    const auto sound = std::ranges::find_if(proposal.tokens, [&](token_id token) {
      return token < 0 || token >= config_.drafting.vocab_size;
    });
    const auto count = std::min<std::ptrdiff_t>(sound - proposal.tokens.begin(), draft_limit(*s));
    s->drafts.assign(proposal.tokens.begin(), proposal.tokens.begin() + count);
  }
  settle_draft();
}

void scheduler::drafts_failed(step_id id) {
  if (!draft_ || draft_->id != id) {
    if (drafter_ == drafter_state::late) drafter_ = drafter_state::ready;
    return;
  }
  ++counters_.drafting.plans_given_up;
  settle_draft();
}

// --- The next plan -------------------------------------------------------------------------

// Rows for drafts in the next step: those at hand, as far as there is room.
std::uint32_t scheduler::draft_rows(std::span<sequence* const> running) const {
  if (config_.drafting.tokens_max == 0) return 0;
  std::uint32_t drafts = 0;
  for (const auto* s : running) {
    drafts += std::min(static_cast<std::uint32_t>(s->drafts.size()), draft_limit(*s));
  }
  return std::min(drafts, draft_room(shape_of(running)));
}

// As many drafts as there are blocks for. It is never worth preempting anybody.
std::uint32_t scheduler::back_drafts(const sequence& s, std::uint32_t room,
                                     block_need spared) const {
  const auto wanted = std::min({room, static_cast<std::uint32_t>(s.drafts.size()), draft_limit(s)});
  if (wanted == 0) return 0;
  return std::max(1u, blocks_.rows_backed(s.blocks, s.computed, 1 + wanted, spared)) - 1;
}

}  // namespace glimmer
