#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "scheduler/scheduler.hpp"
#include "tests/simulation/fake_drafter.hpp"
#include "tests/simulation/fake_executor.hpp"

namespace glimmer {

/// A small engine for examples: 64 blocks of 4 positions per group, window 8, no end tokens.
inline scheduler_config small_config() {
  scheduler_config config;
  config.max_model_len = 128;
  config.max_num_seqs = 8;
  config.max_num_batched_tokens = 32;
  config.block_size = 4;
  config.window = 8;
  config.blocks = {64, 64};
  return config;
}

/// The same with drafts of `tokens` a step, always as many as there is room for.
inline scheduler_config drafting_engine(std::uint32_t tokens = 4) {
  auto config = small_config();
  config.max_num_batched_tokens = 128;
  config.drafting = {
      .tokens_max = tokens, .adaptive = false, .verify_rows_max = 128, .vocab_size = 64};
  return config;
}

inline std::shared_ptr<const std::vector<token_id>> prompt_of(std::uint32_t tokens,
                                                              token_id first = 0) {
  std::vector<token_id> prompt;
  for (std::uint32_t i = 0; i < tokens; ++i) {
    prompt.push_back(first + static_cast<token_id>(i % 50));
  }
  return std::make_shared<const std::vector<token_id>>(std::move(prompt));
}

/// What an example asks for, named.
struct ask {
  std::uint64_t id = 1;  ///< of the request, and of its first sequence
  std::uint32_t prompt = 4;
  std::uint32_t max_tokens = 4;
  std::uint32_t choices = 1;
  std::uint32_t window = 256;
  token_id first_token = 0;  ///< prompts differ when this does
};

/// A scheduler with its executor and a clock that only moves when told.
struct stage {
  explicit stage(scheduler_config config = small_config())
      : config{config}, sched{config}, executor{config} {}

  static sequence_request request_of(const ask& a) {
    sampling_params params;
    params.seed = a.id;
    params.max_tokens = a.max_tokens;
    sequence_request request{.request = {a.id},
                             .choices = {},
                             .prompt = prompt_of(a.prompt, a.first_token),
                             .token_window = a.window};
    for (std::uint32_t i = 0; i < a.choices; ++i) {
      params.seed = a.id + i;
      request.choices.push_back(
          {.id = {a.id + i}, .params = std::make_shared<const sampling_params>(params)});
    }
    return request;
  }

  /// From now on a drafter without a model proposes.
  void draft(const fake_drafter::temper& mood) {
    drafter.emplace(config, mood, 1);
    sched.drafter_ready();
  }

  result<admission> admit(const ask& a) { return sched.admit(request_of(a), now); }

  /// Plans and runs one step; the plan stays in `last`. False when there was none.
  bool step() {
    auto plan = sched.plan(now);
    take(sched.take_finished());
    if (!plan) return false;
    last = *plan;
    if (drafter) drafter->follow(*plan);
    auto out = sched.commit(executor.run(*plan), now);
    for (auto& output : out.outputs) {
      auto& stream = streams[output.id.value];
      stream.insert(stream.end(), output.tokens.begin(), output.tokens.end());
    }
    take(out.finished);
    last_draft = sched.plan_drafts(now);
    if (last_draft) sched.take_drafts(drafter->run(*last_draft, executor), now);
    return true;
  }

  /// Steps until nobody can run. Returns the number of steps.
  std::uint32_t run() {
    std::uint32_t steps = 0;
    while (step()) ++steps;
    return steps;
  }

  void take(const std::vector<sequence_finished>& endings) {
    for (const auto& ending : endings) finished.emplace(ending.id.value, ending);
  }

  /// Rows of a sequence in the last plan; nothing when it had none.
  const sequence_rows* rows(std::uint64_t id) const {
    for (const auto& rows : last.sequences) {
      if (rows.id.value == id) return &rows;
    }
    return nullptr;
  }

  std::uint32_t used(kv_group group) const {
    return sched.stats().blocks[static_cast<std::size_t>(group)].used;
  }
  bool healthy() const {
    return executor.complaint().empty() && !sched.check_invariants() &&
           (!drafter || drafter->complaint().empty());
  }

  scheduler_config config;
  scheduler sched;
  fake_executor executor;
  std::optional<fake_drafter> drafter;
  time_point now{};
  step_plan last;
  std::optional<draft_plan> last_draft;
  std::map<std::uint64_t, std::vector<token_id>> streams;
  std::map<std::uint64_t, sequence_finished> finished;
};

inline std::vector<token_id> solo(const ask& a) {
  const auto request = stage::request_of(a);
  return solo_stream(*request.prompt, *request.choices[0].params, a.max_tokens);
}

}  // namespace glimmer
