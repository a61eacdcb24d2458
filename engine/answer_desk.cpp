#include "engine/answer_desk.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.hpp"
#include "protocol/openai/chat_response.hpp"

namespace glimmer {
namespace {

/// What the client is told of an ending that is no answer.
std::optional<error> failure_of(const sequence_finished& ending) {
  switch (ending.cause) {
    case end_cause::stop_token:
    case end_cause::length:
    case end_cause::stop_string: return std::nullopt;
    case end_cause::cancelled:
      if (ending.reason == cancel_reason::abort) {
        return error{error_kind::bad_request, "aborted", "", "The request was aborted by its id."};
      }
      return error{error_kind::unavailable, "cancelled", "", "The request was cancelled."};
    case end_cause::deadline:
      return error{error_kind::unavailable, "timeout", "", "The request's time is over."};
    case end_cause::error: break;
  }
  return error{error_kind::device, "", "", "The model could not compute this request."};
}

double seconds(duration d) {
  return std::chrono::duration<double>(d).count();
}

/// The word of `request_success` for one sequence: what the engine saw, before calls are looked at.
std::string reason_label(const sequence_finished& ending, bool found_end) {
  switch (ending.cause) {
    case end_cause::stop_token:
    case end_cause::stop_string: return "stop";
    case end_cause::length: return found_end ? "stop" : "length";
    case end_cause::cancelled:
    case end_cause::deadline: return "abort";
    case end_cause::error: break;
  }
  return "error";
}

}  // namespace

answer_desk::answer_desk(config setup)
    : setup_{std::move(setup)}, counters_{setup_.context_tokens} {}

answer_desk::open_request* answer_desk::find(request_id request) {
  const auto at = open_.find(request);
  return at == open_.end() ? nullptr : &at->second;
}

std::vector<sequence_request> answer_desk::open(std::shared_ptr<const accepted_request> accepted) {
  const auto request = accepted->request;
  const auto context =
      make_digest_context(setup_.tokens, accepted->response,
                          {.process = setup_.process_key, .request = request.value, .choice = 0});
  open_request entry{.accepted = accepted, .answer = make_writer(*accepted)};
  std::uint32_t choices = 0;
  for (const auto& prompt : accepted->prompts) {
    choices += static_cast<std::uint32_t>(prompt.choices.size());
  }
  const auto window = setup_.bounds.choice_window(choices);
  std::vector<sequence_request> out;
  for (const auto& prompt : accepted->prompts) {
    auto& asked = out.emplace_back(sequence_request{.request = request,
                                                    .choices = {},
                                                    .prompt = prompt.prompt,
                                                    .token_window = window,
                                                    .priority = accepted->priority,
                                                    .fairness_key = accepted->fairness_key,
                                                    .cache_salt = accepted->cache_salt,
                                                    .deadline = std::nullopt});
    entry.prompts.push_back({.prompt_tokens = static_cast<std::uint32_t>(prompt.prompt->size())});
    for (const auto& params : prompt.choices) {
      const auto index = static_cast<std::uint32_t>(entry.choices.size());
      asked.choices.push_back({.id = sequence_of(request, index),
                               .params = std::make_shared<const sampling_params>(params)});
      entry.choices.push_back(
          {.digester = token_digester{context, {prompt.end, index, params.min_tokens}}});
    }
  }
  entry.left = entry.choices.size();
  const bool fresh = open_.emplace(request, std::move(entry)).second;
  GLIMMER_ASSERT(fresh, "a request is opened once");
  return out;
}

std::unique_ptr<answer_writer> answer_desk::make_writer(const accepted_request& accepted) const {
  response_identity identity{.id = accepted.answer_id, .created = accepted.created};
  if (!accepted.response.chat) {
    std::vector<completion_prompt> prompts;
    for (std::size_t i = 0; i < accepted.prompts.size(); ++i) {
      prompts.push_back(shown(accepted, i));
    }
    return std::make_unique<completion_answer>(accepted.response, std::move(identity),
                                               std::move(prompts));
  }
  if (accepted.response.return_token_ids) identity.prompt_tokens = *accepted.prompts[0].prompt;
  return std::make_unique<chat_answer>(accepted.response, std::move(identity));
}

/// As much of a prompt as the answer will show.
completion_prompt answer_desk::shown(const accepted_request& accepted, std::size_t prompt) const {
  const auto& tokens = *accepted.prompts[prompt].prompt;
  const auto& response = accepted.response;
  completion_prompt out{.tokens = static_cast<std::uint32_t>(tokens.size())};
  if (response.return_token_ids) out.token_ids = tokens;
  if (!response.echo) return out;
  detokenizer text{setup_.tokens};
  for (const auto token : tokens) text.push(token, out.echo);
  text.finish(out.echo);
  if (response.logprobs) {
    for (const auto token : tokens) out.spellings.emplace_back(text.token_bytes(token));
  }
  return out;
}

void answer_desk::admitted(request_id request) {
  auto* at = find(request);
  GLIMMER_ASSERT(at != nullptr, "only open requests are admitted");
  at->answer->begin(at->prompts.front(), at->bytes);
  for (const auto& prompt : at->prompts) {
    counters_.observe(counters_.series(metric::request_prompt_tokens), prompt.prompt_tokens);
  }
  counters_.observe(counters_.series(metric::request_params_n),
                    static_cast<double>(at->choices.size()));
  // Unary answers tell it too, without bytes: a frontend whose client has gone repeats its cancel.
  mail_.pieces.push_back({.request = request,
                          .bytes = std::exchange(at->bytes, {}),
                          .stream = at->accepted->response.stream});
}

void answer_desk::refused(request_id request, const error& why) {
  GLIMMER_ASSERT(open_.erase(request) == 1, "only open requests are refused");
  mail_.refusals.push_back({request, why});
}

void answer_desk::take(const committed& step, time_point now) {
  const auto touch = [&](request_id request) -> open_request& {
    auto* at = find(request);
    GLIMMER_ASSERT(at != nullptr, "a sequence's request is open until its last ending");
    if (!std::exchange(at->touched, true)) touched_.push_back(request);
    return *at;
  };
  for (const auto& output : step.outputs) digest(touch(output.request), output, now);
  for (const auto& ending : step.finished) finish(touch(ending.request), ending);
  for (const auto request : std::exchange(touched_, {})) settle(*find(request), now);
}

void answer_desk::digest(open_request& at, const sequence_output& output, time_point now) {
  const auto index = choice_of(output.id);
  auto& one = at.choices.at(index);
  const auto prompt = index / at.accepted->response.sequences();
  if (!output.prompt_logprobs.empty()) {
    std::vector<spelled_logprob> told;
    for (const auto& entry : output.prompt_logprobs) told.push_back(spell(entry));
    at.answer->add_prompt(prompt, told);
  }
  if (output.tokens.empty()) return;
  at.prompts[prompt].cached_tokens = output.cached_tokens;
  at.stands_for.push_back({output.id, static_cast<std::uint32_t>(output.tokens.size())});
  if (one.found_end || at.failed) return;
  events_.clear();
  shown_.clear();
  std::vector<spelled_logprob> logprobs;
  const auto before = one.digester.tokens();
  token_digester::digested digested;
  for (std::size_t i = 0; i < output.tokens.size() && !digested.ended; ++i) {
    const bool inside = one.digester.in_reasoning();
    digested = one.digester.push(std::span{output.tokens}.subspan(i, 1), events_);
    const bool thought = inside && one.digester.in_reasoning();
    if (thought && !at.accepted->response.include_reasoning) continue;  // nor told by its tokens
    shown_.push_back(output.tokens[i]);
    if (i < output.logprobs.size()) logprobs.push_back(spell(output.logprobs[i]));
  }
  const auto taken = one.digester.tokens() - before;
  at.answer->add(index,
                 {.events = events_,
                  .logprobs = logprobs,
                  .tokens = shown_,
                  .usage = {.prompt_tokens = at.prompts[prompt].prompt_tokens,
                            .cached_tokens = at.prompts[prompt].cached_tokens,
                            .completion_tokens = one.digester.tokens(),
                            .reasoning_tokens = one.digester.reasoning_tokens()}},
                 at.bytes);
  count_tokens(at, taken, now);
  if (!digested.ended) return;
  one.found_end = true;
  one.stop_string = digested.stop_string;
  mail_.ends.push_back({output.id, digested.end_index});
}

void answer_desk::finish(open_request& at, const sequence_finished& ending) {
  GLIMMER_ASSERT(at.left > 0, "a sequence ends once");
  --at.left;
  const auto index = choice_of(ending.id);
  auto& one = at.choices.at(index);
  counters_.add(counters_.series(metric::request_success,
                                 {{"finished_reason", reason_label(ending, one.found_end)}}));
  if (at.failed) return;
  at.failed = failure_of(ending);
  if (at.failed) return;
  events_.clear();
  const bool cut = ending.cause == end_cause::length && !one.found_end;
  const auto reason =
      one.digester.finish(cut ? finish_reason::length : finish_reason::stop, events_);
  auto usage = ending.usage;
  usage.reasoning_tokens = one.digester.reasoning_tokens();
  // The sequence may have gone on, even ended by itself, before it heard of the end found here.
  if (one.found_end) {
    usage.completion_tokens = std::min(usage.completion_tokens, one.digester.tokens());
  }
  at.prompts[index / at.accepted->response.sequences()].cached_tokens = usage.cached_tokens;
  at.answer->add(index, {.events = events_, .usage = usage}, at.bytes);
  choice_end end{.reason = reason, .usage = usage};
  const auto& own = at.accepted->prompts.front().choices.front().stop_token_ids;
  if (one.stop_string) {
    end.cause = *one.stop_string;
  } else if (!one.found_end && ending.stop_token &&
             std::ranges::binary_search(own, *ending.stop_token)) {
    end.cause = *ending.stop_token;
  }
  at.answer->finish(index, end, at.bytes);
  counters_.observe(counters_.series(metric::request_generation_tokens), usage.completion_tokens);
  counters_.add(counters_.series(metric::reasoning_tokens), usage.reasoning_tokens);
}

/// Sends what the step made of one request, and its end when no choice is left.
void answer_desk::settle(open_request& at, time_point now) {
  at.touched = false;
  const auto request = at.accepted->request;
  if (at.left > 0) {
    // The answer is one error whatever the others bring.
    if (at.failed && !std::exchange(at.cancelled, true)) mail_.cancels.push_back(request);
    return send_piece(at, false);
  }
  const bool stream = at.accepted->response.stream;
  if (at.failed && !stream) {
    mail_.refusals.push_back({request, *at.failed});
    mail_.windows.insert(mail_.windows.end(), at.stands_for.begin(), at.stands_for.end());
  } else {
    if (at.failed) {
      at.answer->abort(*at.failed, at.bytes);
    } else {
      at.answer->end(at.bytes);
    }
    send_piece(at, true);
  }
  counters_.observe(counters_.series(metric::e2e_latency), seconds(now - at.accepted->arrived));
  open_.erase(request);
}

void answer_desk::send_piece(open_request& at, bool last) {
  if (at.bytes.empty() && !last) {
    mail_.windows.insert(mail_.windows.end(), at.stands_for.begin(), at.stands_for.end());
    at.stands_for.clear();
    return;
  }
  const auto size = at.bytes.size();
  mail_.pieces.push_back({.request = at.accepted->request,
                          .bytes = std::exchange(at.bytes, {}),
                          .stands_for = std::exchange(at.stands_for, {}),
                          .stream = at.accepted->response.stream,
                          .last = last});
  if (!last) at.bytes.reserve(size);  // the next piece is much like this one
}

spelled_logprob answer_desk::spell(const token_logprob& entry) const {
  const auto text = [&](token_id token) {
    return std::string{setup_.tokens->words().bytes(token)};
  };
  spelled_logprob out{.token = text(entry.token), .logprob = entry.logprob, .id = entry.token};
  for (const auto& [token, logprob] : entry.top) {
    out.top.emplace_back(text(token), logprob);
    out.top_ids.push_back(token);
  }
  return out;
}

void answer_desk::count_tokens(open_request& at, std::size_t tokens, time_point now) {
  if (tokens == 0) return;
  counters_.add(counters_.series(metric::generation_tokens), static_cast<double>(tokens));
  if (!at.first_token) {
    at.first_token = now;
    for (const auto& prompt : at.prompts) {
      counters_.add(counters_.series(metric::prompt_tokens), prompt.prompt_tokens);
    }
    counters_.observe(counters_.series(metric::time_to_first_token),
                      seconds(now - at.accepted->arrived));
  } else {
    counters_.observe(counters_.series(metric::inter_token_latency), seconds(now - at.last_token));
  }
  at.last_token = now;
}

}  // namespace glimmer
