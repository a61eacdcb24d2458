#include "engine/offline_engine.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <utility>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "engine/step_loop.hpp"

namespace glimmer {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

offline_engine::offline_engine(const scheduler_config& config, std::int64_t vocab_size,
                               std::unique_ptr<stepper> steps, std::unique_ptr<proposer> drafts)
    : steps_{std::move(steps)},
      drafts_{std::move(drafts)},
      scheduler_{config},
      vocab_size_{vocab_size} {
  if (drafts_) scheduler_.drafter_ready();
}

offline_engine::~offline_engine() = default;

result<std::vector<sequence_id>> offline_engine::submit(std::vector<token_id> prompt,
                                                        sampling_params params,
                                                        std::uint32_t choices) {
  for (const auto token : prompt)
    if (token < 0 || token >= vocab_size_)
      return fail(bad_value("prompt", fmt::format("Token {} lies outside of the vocabulary of {}.",
                                                  token, vocab_size_)));
  sequence_request request{
      .request = {++last_id_},
      .prompt = std::make_shared<const std::vector<token_id>>(std::move(prompt))};
  std::vector<sequence_id> ids;
  for (std::uint32_t i = 0; i < choices; ++i) {
    auto own = params;
    own.seed = choice_seed(params.seed, i);
    ids.push_back({++last_id_});
    request.choices.push_back({ids.back(), std::make_shared<const sampling_params>(own)});
  }
  const auto admitted = scheduler_.admit(std::move(request), now());
  if (!admitted) return fail(admitted.error());
  for (const auto id : ids) outputs_[id] = {};
  return ids;
}

bool offline_engine::step() {
  auto news = run_one_step(
      scheduler_, *steps_, [this] { return now(); }, drafts_.get());
  if (!news) return false;
  take(std::move(*news));
  return true;
}

void offline_engine::run() {
  while (step()) {
  }
  GLIMMER_ASSERT(scheduler_.idle(), "an engine whose clients read everything never stalls");
}

const offline_output& offline_engine::output(sequence_id id) const {
  const auto found = outputs_.find(id);
  GLIMMER_ASSERT(found != outputs_.end(), "outputs are asked for by ids that submit returned");
  return found->second;
}

void offline_engine::cancel(sequence_id id) {
  scheduler_.cancel(id, cancel_reason::abort);
}

/// A clock that ticks once per question: the same calls give the same run.
time_point offline_engine::now() {
  return {std::chrono::milliseconds{static_cast<std::int64_t>(++ticks_)}};
}

void offline_engine::take(committed&& news) {
  for (auto& n : news.outputs) {
    auto& out = outputs_[n.id];
    GLIMMER_ASSERT(n.first_index == out.tokens.size(), "tokens arrive in order, each once");
    scheduler_.grant(n.id, static_cast<std::uint32_t>(n.tokens.size()));
    append(out.tokens, std::move(n.tokens));
    append(out.logprobs, std::move(n.logprobs));
    append(out.prompt_logprobs, std::move(n.prompt_logprobs));
  }
  for (auto& f : news.finished) {
    auto& out = outputs_[f.id];
    GLIMMER_ASSERT(!out.finished, "every sequence ends once");
    out.finished = std::move(f);
  }
}

}  // namespace glimmer
