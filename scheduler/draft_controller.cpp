#include "scheduler/draft_controller.hpp"

#include <algorithm>

namespace glimmer {

namespace {

constexpr double allowance = 0.01;      // of all time goes to drafts that may not pay
constexpr double ledger_max = 8;        // steps without drafts
constexpr double gain_to_start = 1.05;  // a little more than to go on: no flapping
constexpr double gain_to_go_on = 1.01;
constexpr std::uint64_t refresh = 64;    // steps until no drafting is measured again
constexpr std::uint32_t watch_max = 32;  // decisions without drafting until the drafter rests
constexpr std::uint32_t probe_period = 128;
constexpr std::uint32_t probe_rounds = 4;  // the first of them have little context
constexpr std::uint32_t probe_tokens = 4;

/// One more draft of a sequence: worth it if all before it are right.
struct offer {
  float chance = 0;
  std::uint32_t candidate = 0;
};

}  // namespace

std::vector<std::uint32_t> even_lengths(std::span<const draft_candidate> candidates,
                                        std::uint32_t room) {
  std::vector<std::uint32_t> out(candidates.size());
  for (std::uint32_t length = 1; length <= draft_tokens_max && room > 0; ++length) {
    for (std::size_t i = 0; i < candidates.size() && room > 0; ++i) {
      if (candidates[i].tokens_max < length) continue;
      out[i] = length;
      --room;
    }
  }
  return out;
}

// Chances only fall along a block, so the likeliest offers of a sequence are its first ones.
draft_controller::choice draft_controller::best_of(
    const draft_load& load, std::span<const draft_candidate> candidates) const {
  const auto everyone = all_.chances();
  std::vector<offer> offers;
  offers.reserve(candidates.size() * config_.tokens_max);
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {
    const auto& c = candidates[i];
    const auto chances = c.record ? c.record->chances(everyone) : everyone;
    float reached = 1;
    for (std::uint32_t j = 0; j < std::min(c.tokens_max, config_.tokens_max); ++j) {
      offers.push_back({.chance = reached *= chances[j], .candidate = i});
    }
  }
  // No more than fit are put in order; which of equal ones comes first is left open.
  const auto count = std::min<std::size_t>(offers.size(), load.room);
  std::ranges::partial_sort(offers, offers.begin() + static_cast<std::ptrdiff_t>(count),
                            std::greater{}, &offer::chance);

  const auto streams = static_cast<std::uint32_t>(candidates.size());
  const auto rows = streams + load.prompt_rows;
  const auto plain = steps_.expect(rows);
  const auto plain_rate = streams / plain;
  choice best{.tokens = std::vector<std::uint32_t>(streams)};
  std::vector<std::uint32_t> taken(streams);
  double tokens = streams;
  std::uint32_t blocks = 0;
  std::size_t best_count = 0;
  for (std::uint32_t n = 1; n <= count; ++n) {
    const auto& next = offers[n - 1];
    tokens += next.chance;
    blocks += taken[next.candidate]++ == 0;
    const auto block_rows = n + blocks;
    const bool known = steps_.knows(rows + n) && drafts_.knows(block_rows);
    const auto worst = steps_.at_worst(rows + n) + drafts_.at_worst(block_rows) - plain;
    if (!known && !affordable(worst)) break;
    const auto time = steps_.expect(rows + n) + drafts_.expect(block_rows);
    const auto gain = tokens / time / plain_rate;
    if (gain <= best.gain) continue;
    best.gain = gain;
    best_count = n;
  }
  for (std::size_t n = 0; n < best_count; ++n) ++best.tokens[offers[n].candidate];
  return best;
}

draft_decision draft_controller::decide(const draft_load& load,
                                        std::span<const draft_candidate> candidates) {
  draft_decision out{.tokens = std::vector<std::uint32_t>(candidates.size())};
  if (!config_.adaptive) {
    out.tokens = even_lengths(candidates, load.room);
    return out;
  }
  const auto streams = static_cast<std::uint32_t>(candidates.size());
  if (streams == 0) {
    // Prompts alone: will drafting pay once they decode?
    const std::vector<draft_candidate> later(load.prompts, {.tokens_max = config_.tokens_max});
    const bool known = steps_.knows(std::max(load.prompts, 1u));
    out.context = mood_ != mood::resting ||
                  (!broke_ && known && best_of({.room = load.room}, later).gain > gain_to_start);
    return out;
  }
  out.context = mood_ != mood::resting;
  const bool measured = steps_.knows(streams) && steps_.age(streams) < refresh;
  if (load.prompt_rows == 0 && !measured) return out;
  if (broke_) return out;
  ++since_probe_;
  if (probe_left_ > 0) return probe(candidates);
  auto best = best_of(load, candidates);
  if (best.gain > (mood_ == mood::drafting ? gain_to_go_on : gain_to_start)) {
    mood_ = mood::drafting;
    watched_ = 0;
    return {.context = true, .tokens = std::move(best.tokens)};
  }
  if (++watched_ >= watch_max)
    mood_ = mood::resting;
  else if (mood_ == mood::drafting)
    mood_ = mood::watching;
  if (load.prompt_rows == 0 && since_probe_ >= probe_period &&
      balance_ >= ledger_max / 2 * plain_step_) {
    probe_left_ = probe_rounds;
    return probe(candidates);
  }
  out.context = mood_ != mood::resting;
  return out;
}

// One sequence at a time is tried, and another one the next time.
draft_decision draft_controller::probe(std::span<const draft_candidate> candidates) {
  draft_decision out{.tokens = std::vector<std::uint32_t>(candidates.size())};
  --probe_left_;
  const auto streams = static_cast<std::uint32_t>(candidates.size());
  const auto who = watched_ / probe_period % streams;
  const auto wanted = std::min({candidates[who].tokens_max, probe_tokens, config_.tokens_max});
  const auto extra =
      steps_.at_worst(streams + wanted) - steps_.expect(streams) + drafts_.at_worst(wanted + 1);
  if (affordable(extra))
    out.tokens[who] = wanted;
  else
    probe_left_ = 0;
  if (probe_left_ == 0) since_probe_ = 0;
  return out;
}

void draft_controller::observe(const verify_cost& step) {
  const auto rows = step.streams + step.draft_rows + step.prompt_rows;
  if (rows > 0) steps_.observe({.rows = rows, .time = step.time});
  const auto drafting = draft_time_;
  draft_time_ = 0;
  if (step.streams == 0 || step.prompt_rows > 0 || !steps_.knows(step.streams)) return;
  plain_step_ = steps_.expect(step.streams);
  if (!funded_) balance_ = ledger_max * plain_step_;
  funded_ = true;
  const auto time = static_cast<double>(step.time.count());
  const auto saved = step.draft_rows > 0 ? plain_step_ * step.tokens / step.streams - time : 0.0;
  balance_ += saved - drafting + allowance * (time + drafting);
  balance_ = std::min(balance_, ledger_max * plain_step_);
  if (balance_ <= 0) {
    broke_ = true;
    mood_ = mood::resting;
  }
  if (balance_ >= ledger_max / 2 * plain_step_) broke_ = false;
}

void draft_controller::observe(const draft_cost& drafting) {
  if (drafting.rows > 0) drafts_.observe({.rows = drafting.rows, .time = drafting.time});
  draft_time_ += static_cast<double>(drafting.time.count());
}

}  // namespace glimmer
