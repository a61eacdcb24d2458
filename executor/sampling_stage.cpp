#include "executor/sampling_stage.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/assert.hpp"
#include "executor/acceptance.hpp"

namespace glimmer {

sampling_stage::sampling_stage(std::vector<token_id> end_tokens, unsigned lanes)
    : end_tokens_{std::move(end_tokens)}, lanes_(std::max(lanes, 1u)) {}

void sampling_stage::begin(const step_plan& plan) {
  GLIMMER_ASSERT(plan_ == nullptr, "the step before was finished");
  plan_ = &plan;
  for (const auto id : plan.dropped) states_.erase(id);
  for (const auto& s : plan.started) start(s);

  answer_ = {plan.id, {}};
  answer_.sequences.resize(plan.sequences.size());
  state_of_.clear();
  tasks_.clear();
  wanted_.clear();
  for (std::uint32_t i = 0; i < plan.sequences.size(); ++i) {
    const auto found = states_.find(plan.sequences[i].id);
    GLIMMER_ASSERT(found != states_.end(), "a planned sequence was started before");
    state_of_.push_back(&found->second);
    answer_.sequences[i].id = plan.sequences[i].id;
    list_tasks(i);
  }
}

void sampling_stage::start(const sequence_start& s) {
  GLIMMER_ASSERT(!s.prompt->empty(), "a prompt has a token whose row predicts the first output");
  const auto [place, is_new] = states_.try_emplace(
      s.id, sequence_state{s.params, s.prompt, {s.params, *s.prompt, end_tokens_}});
  GLIMMER_ASSERT(is_new, "a sequence is started once, or again after it was dropped");
  for (const auto token : s.output) place->second.processor.accept(token);
}

void sampling_stage::list_tasks(std::uint32_t sequence) {
  const auto& rows = plan_->sequences[sequence];
  const auto& state = *state_of_[sequence];
  const auto end = rows.position + rows.count;
  if (state.params->prompt_logprobs) {
    const auto last = static_cast<std::uint32_t>(state.prompt->size() - 1);  // predicts the output
    const auto stop = std::min(end, last);
    const auto told = stop > rows.position ? stop - rows.position : 0;
    answer_.sequences[sequence].prompt_logprobs.resize(told);
    for (std::uint32_t i = 0; i < told; ++i)
      add_task({logit_task::kind::prompt, sequence, rows.token_begin + i, 0, 1});
  }
  if (!rows.sample) return;
  GLIMMER_ASSERT(rows.drafts < rows.count, "the anchor's row stands before the drafts");
  GLIMMER_ASSERT(end - rows.drafts == state.prompt->size() + state.processor.output_count(),
                 "the first sampled row is the sequence's last known token");
  add_task({logit_task::kind::sample, sequence, rows.token_begin + rows.count - rows.drafts - 1, 0,
            rows.drafts + 1});
}

void sampling_stage::add_task(logit_task task) {
  task.begin = static_cast<std::uint32_t>(wanted_.size());
  tasks_.push_back(task);
  for (std::uint32_t i = 0; i < task.rows; ++i)
    wanted_.push_back(static_cast<std::int32_t>(task.row + i));
}

void sampling_stage::take(std::span<const logit_task> tasks, std::span<const float> logits,
                          const parallel_for& for_each) {
  GLIMMER_ASSERT(plan_ != nullptr, "logits belong to a step in work");
  if (tasks.empty()) return;
  const auto rows = tasks.back().begin + tasks.back().rows - tasks.front().begin;
  GLIMMER_ASSERT(logits.size() % rows == 0, "logits are whole rows of the tasks");
  const logit_rows all{logits, logits.size() / rows};

  // Lanes draw tasks from one counter; who takes which does not change any result.
  std::atomic<std::size_t> next{0};
  std::vector<std::uint8_t> sound(tasks.size());
  for_each(std::min(lanes_.size(), tasks.size()), [&](std::size_t lane_index) {
    for (std::size_t i; (i = next++) < tasks.size();) {
      auto task = tasks[i];
      task.begin -= tasks.front().begin;
      sound[i] = run_task(task, all, lanes_[lane_index]);
    }
  });
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (!sound[i]) answer_.sequences[tasks[i].sequence].failed = true;
}

bool sampling_stage::run_task(const logit_task& task, const logit_rows& logits, lane& on) {
  return task.what == logit_task::kind::sample ? sample(task, logits, on)
                                               : tell_prompt(task, logits, on);
}

bool sampling_stage::sample(const logit_task& task, const logit_rows& logits, lane& on) {
  auto& state = *state_of_[task.sequence];
  auto& answer = answer_.sequences[task.sequence];
  const auto draw = [&](std::size_t i) -> std::optional<token_id> {
    const auto raw = logits[task.begin + i];
    if (!row_maximum(raw)) return std::nullopt;  // before masks put -inf where NaN was
    auto row = raw;
    if (state.processor.active()) {
      on.row.assign(raw.begin(), raw.end());
      state.processor.apply(on.row);
      row = on.row;
    }
    const auto token = on.draw.draw(row, *state.params, state.processor.output_count());
    if (!token) return std::nullopt;
    if (const auto top = state.params->logprobs)
      answer.logprobs.push_back(on.draw.logprob_of(raw, *token, *top));
    state.processor.accept(*token);
    return token;
  };
  auto drawn = accept_drafts(drafts_of(plan_->sequences[task.sequence]), draw);
  if (!drawn) return false;
  answer.tokens = std::move(*drawn);
  return true;
}

bool sampling_stage::tell_prompt(const logit_task& task, const logit_rows& logits, lane& on) {
  const auto& state = *state_of_[task.sequence];
  const auto& rows = plan_->sequences[task.sequence];
  const auto row = logits[task.begin];
  if (!row_maximum(row)) return false;
  const auto place = task.row - rows.token_begin;
  const auto next_token = (*state.prompt)[rows.position + place + 1];
  answer_.sequences[task.sequence].prompt_logprobs[place] =
      on.draw.logprob_of(row, next_token, *state.params->prompt_logprobs);
  return true;
}

std::span<const token_id> sampling_stage::drafts_of(const sequence_rows& rows) const {
  const std::span all{plan_->tokens};
  return all.subspan(rows.token_begin + rows.count - rows.drafts, rows.drafts);
}

step_result sampling_stage::finish() {
  GLIMMER_ASSERT(plan_ != nullptr, "a step was begun");
  plan_ = nullptr;
  for (auto& s : answer_.sequences)
    if (s.failed) s = {.id = s.id, .failed = true};
  return std::exchange(answer_, {});
}

}  // namespace glimmer
