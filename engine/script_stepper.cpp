#include "engine/script_stepper.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace glimmer {

script_stepper::script_stepper(script turns, std::shared_ptr<const tokenizer> tokens, pause wait)
    : script_{std::move(turns)}, tokens_{std::move(tokens)}, wait_{std::move(wait)} {}

result<step_result> script_stepper::run(const step_plan& plan) {
  meet(plan);
  step_result out{.id = plan.id, .sequences = {}};
  out.sequences.reserve(plan.sequences.size());
  if (std::ranges::any_of(plan.sequences, [&](const auto& rows) { return fails(rows); })) {
    return fail({error_kind::device, "", "", "the script says that this step fails"});
  }
  duration longest{};
  for (const auto& rows : plan.sequences) {
    out.sequences.push_back(play(rows));
    if (const auto* turn = playing_.at(rows.id).turn) longest = std::max(longest, turn->delay);
  }
  if (longest > duration{}) wait_(longest);
  return out;
}

void script_stepper::meet(const step_plan& plan) {
  for (const auto id : plan.dropped) playing_.erase(id);
  for (const auto& start : plan.started) {
    playing_[start.id] = {.turn = script_.find(last_user_message(*start.prompt, *tokens_)),
                          .params = start.params,
                          .prompt = start.prompt,
                          .next = start.output.size()};
  }
}

std::size_t script_stepper::tokens_of(const sequence_rows& rows) const {
  if (!rows.sample) return 0;
  const auto* turn = playing_.at(rows.id).turn;
  return std::min(turn != nullptr ? turn->tokens_per_step : 1u, rows.ahead + 1);
}

bool script_stepper::fails(const sequence_rows& rows) const {
  const auto& one = playing_.at(rows.id);
  if (one.turn == nullptr || !one.turn->fails_at) return false;
  const auto at = *one.turn->fails_at;
  return one.next <= at && at < one.next + tokens_of(rows);
}

sequence_tokens script_stepper::play(const sequence_rows& rows) {
  sequence_tokens got{.id = rows.id};
  const auto known = playing_.find(rows.id);
  GLIMMER_ASSERT(known != playing_.end(), "a sequence is started before its rows come");
  auto& one = known->second;
  if (one.params->prompt_logprobs) {
    const auto end = std::min<std::size_t>(one.prompt->size(), rows.position + rows.count + 1);
    for (std::size_t at = rows.position + 1; at < end; ++at) {
      got.prompt_logprobs.push_back({.token = (*one.prompt)[at], .top = {}});
    }
  }
  const auto count = tokens_of(rows);
  while (got.tokens.size() < count) {
    const bool more = one.turn != nullptr && one.next < one.turn->tokens.size();
    got.tokens.push_back(more ? one.turn->tokens[one.next] : tokens_->id(control_token::eot));
    ++one.next;
    if (one.params->logprobs) got.logprobs.push_back({.token = got.tokens.back(), .top = {}});
  }
  return got;
}

}  // namespace glimmer
