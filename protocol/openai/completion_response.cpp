#include "protocol/openai/completion_response.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.hpp"
#include "base/json.hpp"
#include "protocol/openai/answer_parts.hpp"
#include "protocol/openai/error_body.hpp"
#include "protocol/openai/usage_body.hpp"
#include "protocol/sse_encoder.hpp"

namespace glimmer {

namespace {

/// Characters of a token's bytes: those that begin one.
std::uint64_t characters_in(std::string_view bytes) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      bytes, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void append_entry(std::string& list, std::string_view entry) {
  if (!list.empty()) list += ',';
  list += entry;
}

/// {"token":logprob,...}; tokens that read the same count once, with their best.
std::string top_object(const spelled_logprob& entry) {
  std::string out;
  std::vector<std::string> names;
  out += '{';
  const auto add = [&](std::string_view token, float logprob) {
    auto name = lossy_json_string(token);
    if (std::ranges::find(names, name) != names.end()) return;
    out += names.empty() ? "" : ",";
    out += name;
    out += ':';
    append_finite(out, logprob);
    names.push_back(std::move(name));
  };
  for (const auto& [token, logprob] : entry.top) add(token, logprob);
  add(entry.token, entry.logprob);
  out += '}';
  return out;
}

}  // namespace

completion_answer::completion_answer(response_options options, response_identity identity,
                                     std::vector<completion_prompt> prompts)
    : options_{std::move(options)},
      identity_{std::move(identity)},
      choices_(prompts.size() * options_.sequences()) {
  for (auto& prompt : prompts) prompts_.push_back({.shown = std::move(prompt), .scores = {}});
  head_ = "{\"id\":";
  append_json_string(head_, identity_.id);
  head_ += ",\"object\":\"text_completion\",\"created\":" + std::to_string(identity_.created);
  head_ += ",\"model\":";
  append_json_string(head_, options_.model);
  head_ += ",\"choices\":[";
}

// --- the moments of an answer --------------------------------------------------------------------

void completion_answer::begin(const sequence_usage&, std::string& out) {
  for (std::uint32_t i = 0; i < choices_.size(); ++i) {
    choices_[i].usage.prompt_tokens = prompts_[prompt_of(i)].shown.tokens;
    if (options_.stream) append_chunk(i, nullptr, out);
  }
}

void completion_answer::add_prompt(std::uint32_t prompt,
                                   std::span<const spelled_logprob> logprobs) {
  auto& scores = prompts_.at(prompt).scores;
  scores.insert(scores.end(), logprobs.begin(), logprobs.end());
}

void completion_answer::add(std::uint32_t index, const choice_delta& delta, std::string& out) {
  auto& choice = choices_.at(index);
  GLIMMER_ASSERT(!choice.finished, "nothing follows the end of a choice");
  show_prompt(index);
  for (const auto& entry : delta.logprobs) {
    choice.logprob_sum += entry.logprob;
    if (options_.logprobs) score(choice, entry);
  }
  if (options_.return_token_ids) {
    choice.tokens.insert(choice.tokens.end(), delta.tokens.begin(), delta.tokens.end());
  }
  choice.usage = delta.usage;
  for (const auto& event : delta.events) choice.text += event.text;
  if (options_.stream && !choice.text.empty()) append_chunk(index, nullptr, out);
}

void completion_answer::finish(std::uint32_t index, const choice_end& end, std::string& out) {
  auto& choice = choices_.at(index);
  GLIMMER_ASSERT(!choice.finished, "a choice ends once");
  show_prompt(index);
  choice.finished = true;
  choice.usage = end.usage;
  choice.end = end;
  if (options_.stream) append_chunk(index, &end, out);
}

void completion_answer::end(std::string& out) {
  if (options_.stream) {
    if (options_.include_usage) {
      const sse_event event{out};
      out += head_ + "],\"usage\":";
      append_usage(out, usage());
      out += '}';
    }
    out += sse_done;
    return;
  }
  out += head_;
  std::uint32_t number = 0;
  for (std::uint32_t prompt = 0; prompt < prompts_.size(); ++prompt) {
    for (const auto index : best_of(prompt)) {
      if (number > 0) out += ',';
      append_choice(number++, choices_[index], prompts_[prompt], out);
    }
  }
  out += "],\"system_fingerprint\":null,\"usage\":";
  append_usage(out, usage());
  out += ",\"kv_transfer_params\":null}";
}

void completion_answer::abort(const error& why, std::string& out) {
  if (!options_.stream) return append_error_object(out, why);
  {
    const sse_event event{out};
    append_error_object(out, why);
  }
  out += sse_done;
}

sequence_usage completion_answer::usage() const {
  sequence_usage sum;
  for (std::uint32_t i = 0; i < choices_.size(); ++i) {
    const auto& usage = choices_[i].usage;
    if (i % options_.sequences() == 0) {
      sum.prompt_tokens += usage.prompt_tokens;
      sum.cached_tokens += usage.cached_tokens;
    }
    sum.completion_tokens += usage.completion_tokens;
  }
  return sum;
}

/// The choices of a prompt that are shown: those whose tokens were likeliest on average.
std::vector<std::uint32_t> completion_answer::best_of(std::uint32_t prompt) const {
  std::vector<std::uint32_t> order(options_.sequences());
  std::iota(order.begin(), order.end(), prompt * options_.sequences());
  const auto mean = [&](std::uint32_t index) {
    const auto& choice = choices_[index];
    return choice.logprob_sum / std::max(1u, choice.usage.completion_tokens);
  };
  if (order.size() > options_.choices) {
    std::ranges::stable_sort(order, [&](auto a, auto b) { return mean(a) > mean(b); });
  }
  order.resize(options_.choices);
  return order;
}

// --- what a choice shows -------------------------------------------------------------------------

/// With `echo` the prompt comes first, and its first token has no probability.
void completion_answer::show_prompt(std::uint32_t index) {
  auto& choice = choices_[index];
  if (std::exchange(choice.prompt_shown, true) || !options_.echo) return;
  const auto& prompt = prompts_[prompt_of(index)];
  choice.text += prompt.shown.echo;
  if (!options_.logprobs || prompt.shown.spellings.empty()) return;
  append_entry(choice.scores.tokens, lossy_json_string(prompt.shown.spellings.front()));
  append_entry(choice.scores.logprobs, "null");
  append_entry(choice.scores.top, "null");
  append_entry(choice.scores.offsets, "0");
  choice.characters = characters_in(prompt.shown.spellings.front());
  for (const auto& entry : prompt.scores) score(choice, entry);
}

void completion_answer::score(choice_state& choice, const spelled_logprob& entry) const {
  append_entry(choice.scores.tokens, lossy_json_string(entry.token));
  append_entry(choice.scores.logprobs, "");
  append_finite(choice.scores.logprobs, entry.logprob);
  append_entry(choice.scores.top, *options_.logprobs > 0 ? top_object(entry) : "null");
  append_entry(choice.scores.offsets, std::to_string(choice.characters));
  choice.characters += characters_in(entry.token);
}

void completion_answer::append_scores(const choice_state& choice, std::string& out) const {
  const auto& scores = choice.scores;
  if (!options_.logprobs || (options_.stream && scores.tokens.empty())) {
    out += "null";
    return;
  }
  out += "{\"text_offset\":[" + scores.offsets + "],\"token_logprobs\":[" + scores.logprobs;
  out += "],\"tokens\":[" + scores.tokens + "],\"top_logprobs\":[" + scores.top + "]}";
}

void completion_answer::append_chunk(std::uint32_t index, const choice_end* end, std::string& out) {
  auto& choice = choices_[index];
  const sse_event event{out};
  out += head_ + "{\"index\":" + std::to_string(index) + ",\"text\":";
  append_json_string(out, choice.text);
  out += ",\"logprobs\":";
  append_scores(choice, out);
  if (end != nullptr) {
    append_end(out, *end);
  } else {
    out += ",\"finish_reason\":null,\"stop_reason\":null";
  }
  if (options_.return_token_ids) {
    out += ",\"token_ids\":";
    append_tokens(out, choice.tokens);
  }
  out += "}]";
  if (options_.continuous_usage) {
    out += ",\"usage\":";
    append_usage(out, usage());
  }
  out += '}';
  choice.text.clear();
  choice.tokens.clear();
  choice.scores = {};
}

void completion_answer::append_choice(std::uint32_t number, choice_state& choice,
                                      const prompt_state& prompt, std::string& out) const {
  out += "{\"index\":" + std::to_string(number) + ",\"text\":";
  append_json_string(out, choice.text);
  out += ",\"logprobs\":";
  append_scores(choice, out);
  append_end(out, choice.end);
  out += ",\"token_ids\":";
  options_.return_token_ids ? append_tokens(out, choice.tokens) : void(out += "null");
  out += ",\"prompt_token_ids\":";
  options_.return_token_ids ? append_tokens(out, prompt.shown.token_ids) : void(out += "null");
  out += ",\"prompt_logprobs\":";
  options_.prompt_logprobs ? append_prompt_logprobs(out, prompt.scores) : void(out += "null");
  out += '}';
}

}  // namespace glimmer
