#include "scheduler/scheduler.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "base/assert.hpp"
#include "scheduler/invariants.hpp"

namespace glimmer {

namespace {

scheduler_config checked(scheduler_config config) {
  GLIMMER_ASSERT(check(config).has_value(), "the engine validates the scheduler's config");
  std::ranges::sort(config.end_tokens);
  return config;
}

block_manager_config blocks_of(const scheduler_config& config) {
  return {.block_size = config.block_size,
          .window = config.window,
          .blocks = config.blocks,
          .prefix_caching = config.prefix_caching,
          .look_ahead = config.drafting.tokens_max};
}

/// Most requests leave max_tokens open: what a client is charged for an answer of unknown length.
constexpr std::uint32_t charged_output_max = 1024;

error duplicate_sequence() {
  return {error_kind::bug, "duplicate_sequence", "", "A sequence id is already in use."};
}

}  // namespace

scheduler::scheduler(scheduler_config config)
    : config_{checked(std::move(config))},
      blocks_{blocks_of(config_)},
      rules_{config_, blocks_.positions_max()},
      pace_{config_.pace},
      lengths_{config_.drafting} {
  counters_.drafting.configured = config_.drafting.tokens_max > 0;
  counters_.drafting.acceptance_floor = config_.drafting.acceptance_floor;
}

// --- Requests ------------------------------------------------------------------------------

result<admission> scheduler::admit(sequence_request request, time_point now) {
  std::vector<sequence_request> one;
  one.push_back(std::move(request));
  const auto taken = admit(std::move(one), now);
  if (!taken) return fail(taken.error());
  return taken->front();
}

result<std::vector<admission>> scheduler::admit(std::vector<sequence_request> prompts,
                                                time_point now) {
  auto verdict = judge(prompts);
  if (!verdict) {
    for (const auto& prompt : prompts) counters_.refused += prompt.choices.size();
    return verdict;
  }
  if (!has_work()) counters_.last_progress = now;
  had_work_ = true;
  for (std::size_t i = 0; i < prompts.size(); ++i) enqueue(prompts[i], (*verdict)[i].output_max);
  return verdict;
}

// A request that finds the queue empty is taken whatever its size: later it would fit no better.
result<std::vector<admission>> scheduler::judge(std::span<const sequence_request> prompts) const {
  std::vector<admission> out;
  std::set<sequence_id> ids;
  auto load = queue_;
  for (const auto& prompt : prompts) {
    const auto one = rules_.check(prompt, load);
    if (!one) return fail(one.error());
    out.push_back(*one);
    for (const auto& choice : prompt.choices) {
      if (sequences_.contains(choice.id) || !ids.insert(choice.id).second) {
        return fail(duplicate_sequence());
      }
    }
    if (load.tokens > 0) load.tokens += prompt.prompt->size();
    if (load.sequences > 0) load.sequences += prompt.choices.size();
  }
  return out;
}

void scheduler::enqueue(const sequence_request& prompt, std::uint32_t output_max) {
  const auto salt = std::make_shared<const std::string>(prompt.cache_salt);
  sequence* leader = nullptr;
  for (const auto& choice : prompt.choices) {
    auto& s = create(prompt, choice, output_max);
    s.cache_salt = salt;
    if (leader) {
      queues_.follow(s, *leader);
      s.prompt_told = s.prompt_size();
    } else {
      leader = &s;
      s.queued_tokens = s.prompt_size();
      queue_.tokens += s.queued_tokens;
      queues_.wait(s);
    }
  }
}

sequence& scheduler::create(const sequence_request& request, const sequence_choice& choice,
                            std::uint32_t output_max) {
  auto owned = std::make_unique<sequence>();
  auto& s = *owned;
  s.id = choice.id;
  s.request = request.request;
  s.key = {.priority = request.priority, .arrival = ++counters_.admitted};
  s.prompt = request.prompt;
  s.params = choice.params;
  s.deadline = request.deadline;
  s.blocks.turn_end = s.prompt_size();
  s.output_max = std::min(output_max, choice.params->max_tokens);
  s.key.place = share_.place(request.fairness_key, s.prompt_size() / request.choices.size() +
                                                       std::min(s.output_max, charged_output_max));
  s.window = request.token_window;
  s.state = sequence_state::ended;  // stands in no line yet
  sequences_.emplace(s.id, std::move(owned));
  requests_[s.request].push_back(s.id);
  if (s.deadline) deadlines_.emplace(*s.deadline, s.id);
  ++queue_.sequences;
  return s;
}

sequence* scheduler::find(sequence_id id) {
  const auto at = sequences_.find(id);
  if (at == sequences_.end() || at->second->state == sequence_state::ended) return nullptr;
  return at->second.get();
}

std::uint32_t scheduler::cancel(sequence_id id, cancel_reason reason) {
  auto* s = find(id);
  if (!s) return 0;
  if (reason == cancel_reason::deadline) {
    finish(*s, {.cause = end_cause::deadline});
  } else {
    finish(*s, {.cause = end_cause::cancelled, .reason = reason});
  }
  return 1;
}

std::uint32_t scheduler::cancel(request_id request, cancel_reason reason) {
  const auto at = requests_.find(request);
  if (at == requests_.end()) return 0;
  auto ids = at->second;
  std::ranges::reverse(ids);  // followers before their leader: nothing to hand over
  std::uint32_t ended = 0;
  for (const auto id : ids) ended += cancel(id, reason);
  return ended;
}

void scheduler::cancel_all(cancel_reason reason) {
  std::vector<sequence_id> ids;
  for (const auto& [id, s] : sequences_) ids.push_back(id);
  std::ranges::sort(ids, std::greater{});
  for (const auto id : ids) cancel(id, reason);
}

void scheduler::change_limits(const waiting_limits& limits) {
  config_.queued_tokens_max = limits.queued_tokens_max;
  config_.parked_max = limits.parked_max;
  rules_ = admission_rules{config_, blocks_.positions_max()};
}

void scheduler::end(sequence_id id, std::uint32_t output_index) {
  auto* s = find(id);
  if (!s) return;
  const auto have = static_cast<std::uint32_t>(s->output.size());
  const auto billed = std::min(have, output_index + 1);
  if (config_.drafting.tokens_max > 0) counters_.drafting.discarded += have - billed;
  finish(*s, {.cause = end_cause::stop_string}, billed);
}

void scheduler::grant(sequence_id id, std::uint32_t tokens) {
  auto* s = find(id);
  if (!s || tokens == 0) return;
  s->window += std::min(tokens, UINT32_MAX - s->window);
  if (s->state == sequence_state::parked) queues_.wait(*s);
}

std::vector<sequence_finished> scheduler::take_finished() {
  return std::exchange(finished_, {});
}

// --- A sequence's life ---------------------------------------------------------------------

void scheduler::start(sequence& s, const prefix_hit& hit) {
  if (hit.blocks > 0) {
    blocks_.adopt(s.blocks, hit);
    s.computed = hit.blocks * config_.block_size;
  }
  if (s.queued) {
    s.queued = false;
    share_.served(s.key.place);
    if (s.output.empty() && hit.blocks > 0) {
      s.cached = s.computed;
      counters_.cached_tokens += s.cached;
    }
    --queue_.sequences;
    queue_.tokens -= s.queued_tokens;
    counters_.prompt_tokens += s.queued_tokens;
    s.queued_tokens = 0;
  }
  queues_.run(s);
}

// Everything it has computed is given up; its tokens stay and are computed again later.
void scheduler::preempt(sequence& s) {
  GLIMMER_ASSERT(!s.in_step && !s.in_draft, "blocks of a step in flight are never taken");
  ++counters_.preemptions;
  blocks_.release_all(s.blocks);
  s.computed = 0;
  s.drafts.clear();
  if (s.on_executor) dropped_.push_back(s.id);
  s.on_executor = false;
  if (s.state == sequence_state::running) {
    queues_.wait(s);
  } else {
    queues_.blocks_taken(s);
  }
}

// The prompt is computed: its other choices share the blocks. Each computes the last prompt
// token again, because that is where its own first token is sampled.
void scheduler::fork_followers(sequence& s) {
  const auto shared = s.prompt_size() - 1;
  while (!s.followers.empty()) {
    auto& follower = *s.followers.front();
    if (shared > 0) blocks_.fork(s.blocks, follower.blocks, shared);
    follower.computed = shared;
    follower.cached = s.cached;
    queues_.wait(follower);
    if (follower.output_max == 0) finish(follower, {.cause = end_cause::length});
  }
}

// The choice that computed the prompt ends before it is done: the next one goes on from there.
void scheduler::hand_over(sequence& leader) {
  if (leader.followers.empty()) return;
  auto followers = leader.followers;
  auto& heir = *followers.front();
  if (leader.computed > 0) blocks_.fork(leader.blocks, heir.blocks, leader.computed);
  heir.computed = leader.computed;
  heir.cached = leader.cached;
  heir.prompt_told = leader.prompt_told;
  queues_.wait(heir);
  for (auto* s : std::span{followers}.subspan(1)) {
    queues_.leave(*s);
    queues_.follow(*s, heir);
  }
}

void scheduler::finish(sequence& s, ending why) {
  finish(s, why, static_cast<std::uint32_t>(s.output.size()));
}

void scheduler::finish(sequence& s, ending why, std::uint32_t output_tokens) {
  finished_.push_back({.id = s.id,
                       .request = s.request,
                       .cause = why.cause,
                       .reason = why.reason,
                       .stop_token = why.stop_token,
                       .usage = {.prompt_tokens = s.prompt_size(),
                                 .cached_tokens = s.cached,
                                 .completion_tokens = output_tokens}});
  ++counters_.finished[static_cast<std::size_t>(why.cause)];
  if (s.deadline) deadlines_.erase({*s.deadline, s.id});
  const auto request = requests_.find(s.request);
  std::erase(request->second, s.id);
  if (request->second.empty()) requests_.erase(request);
  if (s.queued) {
    --queue_.sequences;
    if (s.followers.empty()) {
      queue_.tokens -= s.queued_tokens;
    } else {
      s.followers.front()->queued_tokens = s.queued_tokens;
    }
  }
  queues_.leave(s);
  if (!s.in_step && !s.in_draft) retire(s);
}

void scheduler::retire(sequence& s) {
  hand_over(s);
  blocks_.release_all(s.blocks);
  if (s.on_executor) dropped_.push_back(s.id);
  sequences_.erase(s.id);
}

void scheduler::expire(time_point now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    finish(*find(deadlines_.begin()->second), {.cause = end_cause::deadline});
  }
  while (!queues_.parked().empty() &&
         (*queues_.parked().begin())->parked_since + config_.parked_max <= now) {
    finish(**queues_.parked().begin(),
           {.cause = end_cause::cancelled, .reason = cancel_reason::parked});
  }
}

std::optional<time_point> scheduler::next_timeout() const {
  std::optional<time_point> next;
  if (!deadlines_.empty()) next = deadlines_.begin()->first;
  if (!queues_.parked().empty()) {
    const auto parked_end = (*queues_.parked().begin())->parked_since + config_.parked_max;
    next = next ? std::min(*next, parked_end) : parked_end;
  }
  return next;
}

// --- State ---------------------------------------------------------------------------------

bool scheduler::has_work() const {
  return !queues_.running().empty() || !queues_.waiting().empty();
}

bool scheduler::idle() const {
  return sequences_.empty() && !step_ && !draft_;
}

scheduler_stats scheduler::stats() const {
  auto stats = counters_;
  stats.running = static_cast<std::uint32_t>(queues_.running().size());
  stats.waiting = static_cast<std::uint32_t>(queues_.waiting().size()) + queues_.following();
  stats.parked = static_cast<std::uint32_t>(queues_.parked().size());
  stats.queued_tokens = queue_.tokens;
  stats.blocks = blocks_.counts();
  stats.has_work = has_work();
  stats.step_in_flight = step_.has_value() || draft_.has_value();
  stats.drafting.present = drafter_ == drafter_state::ready;
  return stats;
}

void scheduler::reset_prefix_cache() {
  blocks_.forget_unused();
}

std::optional<std::string> scheduler::check_invariants() const {
  std::vector<const sequence*> all;
  queue_load queued;
  std::array<std::size_t, 5> in_state{};
  for (const auto& [id, s] : sequences_) {
    all.push_back(s.get());
    if (auto broken = broken_sequence(*s)) return broken;
    ++in_state[static_cast<std::size_t>(s->state)];
    if (s->state == sequence_state::ended || !s->queued) continue;
    queued.tokens += s->queued_tokens;
    ++queued.sequences;
  }
  const std::array<std::size_t, 4> lines = {queues_.following(), queues_.waiting().size(),
                                            queues_.running().size(), queues_.parked().size()};
  if (!std::equal(lines.begin(), lines.end(), in_state.begin())) {
    return "a line is longer or shorter than the sequences that stand in it";
  }
  if (queued != queue_) return "the queued tokens or sequences are miscounted";
  if (queues_.running().size() > config_.max_num_seqs) return "more run slots than max_num_seqs";
  return broken_block_book(blocks_, all);
}

}  // namespace glimmer
