#include "tests/simulation/world.hpp"

#include <algorithm>
#include <chrono>

namespace glimmer {

using std::chrono::milliseconds;

world::world(std::uint64_t seed, world_options options)
    : chance_{seed},
      options_{options},
      config_{draw_config(chance_, options)},
      scheduler_{config_},
      executor_{config_},
      drafter_{config_,
               {.right_percent = chance_.in({0, 100}),
                .absurd_percent = options.faults && chance_.percent(20) ? 10u : 0u},
               seed} {
  draw_clients(options);
}

namespace {

bool contains(const std::vector<token_id>& tokens, token_id token) {
  return std::ranges::find(tokens, token) != tokens.end();
}

}  // namespace

// --- Drawing -------------------------------------------------------------------------------

scheduler_config world::draw_config(dice& chance, world_options options) {
  scheduler_config config;
  config.block_size = chance.in({1, 8});
  config.window = chance.in({1, 24});
  config.max_model_len = chance.in({24, 96});
  config.max_num_seqs = chance.in({1, 8});
  config.max_num_batched_tokens = config.max_num_seqs + chance.in({0, 40});
  config.max_partial_prefills = chance.in({1, 4});
  config.blocks[0] = chance.in({2, chance.percent(50) ? 12u : 80u});
  config.blocks[1] = chance.in({1, chance.percent(50) ? 10u : 60u});
  if (chance.percent(30)) {
    config.pace = {.step_time_max = milliseconds{chance.in({0, 20})},
                   .decode_floor_percent = chance.in({0, 90})};
  }
  config.parked_max = milliseconds{chance.in({50, 400})};
  config.queued_tokens_max = chance.percent(20) ? 100 : 100'000;
  config.end_tokens = {63, 1};
  config.prefix_caching = options.prefix_caching;
  if (chance.percent(options.drafting ? 10 : 40)) config.tokens_per_step_max = chance.in({2, 20});
  if (options.drafting) {
    config.drafting = {.tokens_max = chance.in({1, draft_tokens_max}),
                       .adaptive = chance.percent(50),
                       .verify_rows_max = config.max_num_seqs + chance.in({0, 60}),
                       .vocab_size = 64,
                       .wait_max = milliseconds{chance.in({10, 40})}};
  }
  return config;
}

// Prompts often go on from earlier ones, as conversations do.
std::vector<token_id> world::draw_prompt() {
  std::vector<token_id> prompt;
  if (!known_prompts_.empty() && chance_.percent(60)) {
    prompt = known_prompts_[chance_.next() % known_prompts_.size()];
    prompt.resize(chance_.in({1, static_cast<std::uint32_t>(prompt.size())}));
  }
  for (auto more = chance_.in({1, chance_.percent(20) ? 60u : 16u}); more > 0; --more) {
    prompt.push_back(static_cast<token_id>(chance_.in({0, 3})));
  }
  known_prompts_.push_back(prompt);
  return prompt;
}

sequence_request world::draw_request(std::uint64_t number) {
  sequence_request request;
  request.request = {number};
  request.prompt = std::make_shared<const std::vector<token_id>>(draw_prompt());
  sampling_params params;
  params.seed = chance_.next();
  params.max_tokens = chance_.percent(5) ? 0 : chance_.in({1, chance_.percent(30) ? 60u : 12u});
  params.min_tokens = chance_.percent(20) ? chance_.in({0, 4}) : 0;
  params.ignore_eos = chance_.percent(30);
  if (chance_.percent(20)) params.stop_token_ids = {5, 17};
  if (chance_.percent(20)) params.logprobs = 0;
  if (chance_.percent(20)) params.prompt_logprobs = 0;
  const auto choices = chance_.percent(30) ? chance_.in({2, 5}) : 1;
  for (std::uint32_t i = 0; i < choices; ++i) {
    params.seed = mix(params.seed);
    request.choices.push_back(
        {.id = {++next_sequence_}, .params = std::make_shared<const sampling_params>(params)});
  }
  request.token_window = chance_.percent(50) ? chance_.in({1, 6}) : 256;
  if (chance_.percent(20)) request.priority = static_cast<std::int32_t>(chance_.in({0, 4})) - 2;
  request.cache_salt = chance_.percent(20) ? "pepper" : "";
  return request;
}

void world::draw_clients(world_options options) {
  for (std::uint32_t i = 0; i < options.requests; ++i) {
    client c{.request = draw_request(i + 1)};
    c.mood.reads_at_once = chance_.percent(60);
    c.mood.read_percent = chance_.percent(10) ? 0 : chance_.in({2, 60});
    if (chance_.percent(25)) c.mood.stop_index = chance_.in({0, 10});
    if (chance_.percent(20)) c.mood.cancel_permille = chance_.in({1, 60});
    c.mood.cancels_one_choice = chance_.percent(40);
    clients_.push_back(std::move(c));
  }
}

// --- Living --------------------------------------------------------------------------------

void world::complain(const std::string& what) {
  if (complaint_.empty()) complaint_ = "event " + std::to_string(events_) + ": " + what;
}

std::string world::live() {
  const auto done = [](const client& c) { return c.submitted && c.alive == 0; };
  while (complaint_.empty() &&
         !(std::ranges::all_of(clients_, done) && !in_flight_ && !drafting_)) {
    event();
    if (++events_ > 200'000) complain("the world does not end");
  }
  if (complaint_.empty()) check_end();
  last_stats_ = scheduler_.stats();
  return complaint_;
}

void world::event() {
  now_ = now_ + milliseconds{chance_.in({0, 4})};
  for (auto& c : clients_) {
    if (!c.submitted) {
      if (chance_.percent(8)) submit(c);
    } else if (c.alive > 0) {
      read(c);
      disturb(c);
    }
  }
  if (chance_.permille(3)) scheduler_.reset_prefix_cache();
  if (options_.faults && chance_.permille(2)) {
    executor_.restart();
    drafter_.restart();
    scheduler_.restart(now_);
    in_flight_.reset();
  }
  if (chance_.percent(70)) step();
  for (const auto& ending : scheduler_.take_finished()) deliver(ending);
  if (const auto broken = scheduler_.check_invariants()) complain(*broken);
  if (!executor_.complaint().empty()) complain(executor_.complaint());
  if (!drafter_.complaint().empty()) complain(drafter_.complaint());
}

void world::submit(client& c) {
  c.submitted = true;
  if (chance_.percent(15)) c.request.deadline = now_ + milliseconds{chance_.in({0, 300})};
  const auto verdict = scheduler_.admit(c.request, now_);
  if (!verdict) {
    c.refused = true;
    if (verdict.error().code != "context_length_exceeded" &&
        verdict.error().code != "kv_capacity_exceeded" && verdict.error().code != "queue_full") {
      complain("refused for a strange reason: " + verdict.error().text);
    }
    return;
  }
  c.output_max = verdict->output_max;
  c.alive = static_cast<std::uint32_t>(c.request.choices.size());
  for (const auto& choice : c.request.choices) {
    stream s{.client = static_cast<std::size_t>(&c - clients_.data()), .params = choice.params};
    s.solo = solo_stream(*c.request.prompt, *choice.params, c.output_max);
    s.solo_cause = cut_at_stop(s.solo, *choice.params) ? end_cause::stop_token : end_cause::length;
    streams_.emplace(choice.id.value, std::move(s));
  }
}

// The rule of stop tokens, said once more in other words than the scheduler's.
bool world::cut_at_stop(std::vector<token_id>& solo, const sampling_params& params) const {
  for (std::size_t i = params.min_tokens; i < solo.size(); ++i) {
    const bool ends = (!params.ignore_eos && contains(config_.end_tokens, solo[i])) ||
                      contains(params.stop_token_ids, solo[i]);
    if (!ends) continue;
    solo.resize(i + 1);
    return true;
  }
  return false;
}

void world::read(client& c) {
  for (const auto& choice : c.request.choices) {
    auto& s = streams_.at(choice.id.value);
    if (s.unread == 0 || s.finished) continue;
    if (!c.mood.reads_at_once && !chance_.percent(c.mood.read_percent)) continue;
    const auto tokens = chance_.in({1, s.unread});
    s.unread -= tokens;
    scheduler_.grant(choice.id, tokens);
  }
}

void world::disturb(client& c) {
  if (chance_.permille(c.mood.cancel_permille)) {
    c.cancelled = true;
    if (c.mood.cancels_one_choice) {
      const auto& choice = c.request.choices[chance_.next() % c.request.choices.size()];
      scheduler_.cancel(choice.id, cancel_reason::abort);
    } else {
      scheduler_.cancel(c.request.request, cancel_reason::gone);
      if (scheduler_.cancel(c.request.request, cancel_reason::gone) != 0) {
        complain("a second cancel ended something");
      }
    }
  }
  for (const auto& choice : c.request.choices) {
    auto& s = streams_.at(choice.id.value);
    if (s.tokens.size() <= c.mood.stop_index || s.finished || !chance_.percent(50)) continue;
    s.told_to_end = true;
    scheduler_.end(choice.id, c.mood.stop_index);
  }
}

void world::draft() {
  if (!options_.drafting) return;
  if (!drafter_alive_) {
    drafter_alive_ = !options_.faults || chance_.percent(10);
    if (drafter_alive_) scheduler_.drafter_ready();
  } else if (options_.faults && chance_.permille(5)) {
    drafter_alive_ = false;
    drafting_.reset();
    scheduler_.drafter_lost();
  }
  if (!drafting_) return;
  const bool awaited = scheduler_.stats().step_in_flight && !in_flight_;
  if (options_.faults && chance_.percent(30)) {
    const bool patient = awaited && now_ < asked_ + config_.drafting.wait_max;
    if (patient && scheduler_.plan(now_)) complain("a plan while the drafter works");
    return;
  }
  const auto plan = *std::exchange(drafting_, std::nullopt);
  if (options_.faults && chance_.percent(3)) {
    scheduler_.drafts_failed(plan.id);
  } else {
    scheduler_.take_drafts(drafter_.run(plan, executor_, awaited), now_);
  }
}

void world::step() {
  draft();
  if (in_flight_) {
    drafter_.follow(*in_flight_);
    auto result = executor_.run(*in_flight_);
    if (options_.faults && chance_.permille(5)) {
      for (const auto& rows : in_flight_->sequences) streams_.at(rows.id.value).failed = true;
      scheduler_.fail_step(in_flight_->id, now_);
      in_flight_.reset();
      return;
    }
    if (options_.faults) spoil(result);
    in_flight_.reset();
    if (chance_.percent(10)) std::ranges::reverse(result.sequences);
    deliver(scheduler_.commit(std::move(result), now_));
    if (auto plan = scheduler_.plan_drafts(now_)) {
      if (drafting_) complain("drafts are asked for while the drafter works");
      drafting_ = std::move(plan);
      asked_ = now_;
    }
    return;
  }
  in_flight_ = scheduler_.plan(now_);
  const auto stats = scheduler_.stats();
  if (!in_flight_ && stats.has_work && !stats.step_in_flight) {
    complain("there is work, but no plan");
  }
}

// Logits that are not finite end a sequence.
void world::spoil(step_result& result) {
  for (auto& got : result.sequences) {
    if (!chance_.permille(2)) continue;
    got.failed = true;
    got.tokens.clear();
    streams_.at(got.id.value).failed = true;
  }
}

void world::deliver(const committed& out) {
  for (const auto& output : out.outputs) deliver(output);
  for (const auto& ending : out.finished) deliver(ending);
}

void world::deliver(const sequence_output& output) {
  auto& s = streams_.at(output.id.value);
  if (s.finished) complain("tokens after the ending");
  if (output.first_index != s.tokens.size()) complain("tokens are missing or repeated");
  if (s.params->logprobs && output.logprobs.size() != output.tokens.size()) {
    complain("not every token has its logprob");
  }
  for (const auto& told : output.prompt_logprobs) {
    if (told.logprob != -float(++clients_[s.client].prompt_logprobs))
      complain("prompt logprobs out of order");
  }
  s.tokens.insert(s.tokens.end(), output.tokens.begin(), output.tokens.end());
  s.unread += static_cast<std::uint32_t>(output.tokens.size());
  if (s.unread > clients_[s.client].request.token_window) complain("more tokens than the window");
  if (s.tokens.size() > s.solo.size() ||
      !std::equal(s.tokens.begin(), s.tokens.end(), s.solo.begin())) {
    complain("sequence " + std::to_string(output.id.value) + " differs from its solo stream");
  }
}

void world::deliver(const sequence_finished& ending) {
  auto& s = streams_.at(ending.id.value);
  if (s.finished) complain("a second ending");
  s.finished = true;
  --clients_[s.client].alive;
  const auto& c = clients_[s.client];
  if (ending.request != c.request.request) complain("an ending under a wrong request");
  if (ending.usage.prompt_tokens != c.request.prompt->size()) complain("prompt tokens misbilled");
  if (ending.usage.cached_tokens >= c.request.prompt->size()) complain("cached tokens misbilled");
  const auto billed = ending.cause == end_cause::stop_string
                          ? std::min<std::size_t>(s.tokens.size(), c.mood.stop_index + 1)
                          : s.tokens.size();
  if (ending.usage.completion_tokens != billed) complain("completion tokens misbilled");
  check_cause(s, ending);
}

void world::check_cause(const stream& s, const sequence_finished& ending) {
  const auto& c = clients_[s.client];
  bool plausible = false;
  switch (ending.cause) {
    case end_cause::stop_token:
      plausible = s.tokens == s.solo && s.solo_cause == end_cause::stop_token &&
                  ending.stop_token == s.tokens.back();
      break;
    case end_cause::length:
      plausible = s.tokens == s.solo && s.solo_cause == end_cause::length;
      break;
    case end_cause::stop_string: plausible = s.told_to_end; break;
    case end_cause::cancelled:
      plausible = ending.reason == cancel_reason::parked
                      ? s.unread == c.request.token_window && !c.mood.reads_at_once
                      : c.cancelled;
      break;
    case end_cause::deadline: plausible = c.request.deadline && *c.request.deadline <= now_; break;
    case end_cause::error: plausible = s.failed; break;
  }
  if (!plausible) {
    complain("sequence " + std::to_string(ending.id.value) + " ended without reason as " +
             std::string{to_string(ending.cause)});
  }
}

void world::check_end() {
  const auto stats = scheduler_.stats();
  if (!scheduler_.idle()) complain("everybody has gone, but the scheduler is not idle");
  for (const auto& blocks : stats.blocks) {
    if (blocks.used != 0 || blocks.free + blocks.cached != blocks.all) complain("blocks leaked");
    if (!config_.prefix_caching && blocks.cached != 0) complain("cached blocks without a cache");
  }
  if (stats.queued_tokens != 0) complain("queued tokens leaked");
  if (scheduler_.next_timeout()) complain("a clock still runs");
  for (const auto& [id, s] : streams_) {
    if (!s.finished) complain("sequence " + std::to_string(id) + " never ended");
  }
}

std::map<std::uint64_t, std::vector<token_id>> world::streams() const {
  std::map<std::uint64_t, std::vector<token_id>> all;
  for (const auto& [id, s] : streams_) all[id] = s.tokens;
  return all;
}

std::uint64_t world::digest() const {
  std::uint64_t out = events_;
  for (const auto& [id, s] : streams_) {
    for (const auto token : s.tokens) out = mix(out ^ static_cast<std::uint64_t>(token));
  }
  return out;
}

}  // namespace glimmer
