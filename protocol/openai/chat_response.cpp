#include "protocol/openai/chat_response.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"
#include "base/json.hpp"
#include "protocol/openai/answer_parts.hpp"
#include "protocol/openai/error_body.hpp"
#include "protocol/openai/usage_body.hpp"
#include "protocol/sse_encoder.hpp"

namespace glimmer {

namespace {

using kind = turn_event::kind;

template <class Integer>
void append_integer(std::string& out, Integer value) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

/// `entries` as the value of "logprobs".
void append_logprobs(std::string& out, std::string_view entries) {
  if (entries.empty()) {
    out += "null";
    return;
  }
  out += "{\"content\":[";
  out += entries;
  out += "]}";
}

/// Whether `next` belongs into the chunk that `first` opened.
bool continues(const turn_event& first, const turn_event& next) {
  if (next.what == kind::tool_arguments) {
    return (first.what == kind::tool_call || first.what == kind::tool_arguments) &&
           first.call_index == next.call_index;
  }
  return next.what == first.what && next.what != kind::tool_call;
}

}  // namespace

chat_answer::chat_answer(response_options options, response_identity identity)
    : options_{std::move(options)}, identity_{std::move(identity)}, choices_(options_.choices) {
  GLIMMER_ASSERT(options_.choices > 0, "a request has a choice");
  chunk_head_ = "{\"id\":";
  append_json_string(chunk_head_, identity_.id);
  chunk_head_ += ",\"object\":\"chat.completion.chunk\",\"created\":";
  append_integer(chunk_head_, identity_.created);
  chunk_head_ += ",\"model\":";
  append_json_string(chunk_head_, options_.model);
  chunk_head_ += ",\"choices\":[";
}

// --- the four moments of an answer ---------------------------------------------------------------

void chat_answer::begin(const sequence_usage& prompt, std::string& out) {
  for (auto& choice : choices_) choice.usage = prompt;
  roles_due_ = options_.stream;
  // Running usage would be wrong before it is known what the cache had: the roles wait for it.
  if (!options_.continuous_usage) give_roles(out);
}

void chat_answer::give_roles(std::string& out) {
  if (!std::exchange(roles_due_, false)) return;
  for (std::uint32_t index = 0; index < choices_.size(); ++index) {
    begin_chunk(index, out);
    out += "\"role\":\"assistant\",\"content\":\"\"";
    end_choice(choices_[index], nullptr, out);
    if (index == 0 && options_.return_token_ids) {
      out += ",\"prompt_token_ids\":";
      append_tokens(out, identity_.prompt_tokens);
    }
    end_chunk(out);
  }
}

void chat_answer::add_prompt(std::uint32_t, std::span<const spelled_logprob> logprobs) {
  prompt_logprobs_.insert(prompt_logprobs_.end(), logprobs.begin(), logprobs.end());
}

void chat_answer::add(std::uint32_t index, const choice_delta& delta, std::string& out) {
  GLIMMER_ASSERT(index < choices_.size(), "choices are numbered below n");
  auto& choice = choices_[index];
  GLIMMER_ASSERT(!choice.finished, "nothing follows the end of a choice");
  for (const auto& entry : delta.logprobs) {
    if (!choice.logprobs.empty()) choice.logprobs += ',';
    append_logprob(choice.logprobs, entry);
  }
  if (options_.return_token_ids) {
    choice.tokens.insert(choice.tokens.end(), delta.tokens.begin(), delta.tokens.end());
  }
  if (options_.continuous_usage) tell_usage(choice, delta.usage, out);
  for (auto events = delta.events; !events.empty();) {
    const auto joined = join(events);
    if (joined.what == kind::reasoning && !options_.include_reasoning) continue;
    if (joined.text.empty() && joined.what != kind::tool_call) continue;
    take(choice, joined);
    if (!options_.stream) continue;
    begin_chunk(index, out);
    append_delta(joined, out);
    end_choice(choice, nullptr, out);
    end_chunk(out);
  }
}

void chat_answer::finish(std::uint32_t index, const choice_end& end, std::string& out) {
  GLIMMER_ASSERT(index < choices_.size(), "choices are numbered below n");
  auto& choice = choices_[index];
  GLIMMER_ASSERT(!choice.finished, "a choice ends once");
  choice.finished = true;
  tell_usage(choice, end.usage, out);
  choice.end = end;
  if (!options_.stream) return;
  begin_chunk(index, out);
  end_choice(choice, &choice.end, out);
  end_chunk(out);
}

/// Takes the usage of one choice; the first of all tells what the cache had of their prompt.
void chat_answer::tell_usage(choice_state& choice, const sequence_usage& usage, std::string& out) {
  if (roles_due_) {
    for (auto& one : choices_) one.usage.cached_tokens = usage.cached_tokens;
    give_roles(out);
  }
  choice.usage = usage;
}

bool chat_answer::complete() const {
  return std::all_of(choices_.begin(), choices_.end(), [](const auto& c) { return c.finished; });
}

void chat_answer::end(std::string& out) {
  GLIMMER_ASSERT(complete(), "an answer ends behind its choices");
  if (!options_.stream) return append_body(out);
  if (options_.include_usage) append_usage_chunk(out);
  out += sse_done;
}

void chat_answer::abort(const error& why, std::string& out) {
  if (!options_.stream) return append_error_object(out, why);
  {
    const sse_event event{out};
    append_error_object(out, why);
  }
  out += sse_done;
}

sequence_usage chat_answer::usage() const {
  sequence_usage sum;
  for (const auto& choice : choices_) {
    if (sum.prompt_tokens == 0) {
      sum.prompt_tokens = choice.usage.prompt_tokens;
      sum.cached_tokens = choice.usage.cached_tokens;
    }
    sum.completion_tokens += choice.usage.completion_tokens;
    sum.reasoning_tokens += choice.usage.reasoning_tokens;
  }
  return sum;
}

// --- events to deltas ----------------------------------------------------------------------------

/// Takes the longest run of events off the front that one chunk can carry.
chat_answer::joined_events chat_answer::join(std::span<const turn_event>& events) const {
  const auto& first = events.front();
  joined_events joined{first.what, first.call_index, first.call_id, first.name, first.text};
  std::size_t count = 1;
  while (count < events.size() && continues(first, events[count])) {
    joined.text += events[count++].text;
  }
  events = events.subspan(count);
  return joined;
}

void chat_answer::take(choice_state& choice, const joined_events& delta) const {
  if (delta.what == kind::tool_call) {
    GLIMMER_ASSERT(delta.call_index == choice.calls_announced, "calls come in order, each once");
    ++choice.calls_announced;
  } else if (delta.what == kind::tool_arguments) {
    GLIMMER_ASSERT(delta.call_index < choice.calls_announced, "arguments follow their call");
  }
  if (!options_.stream) fold(choice, delta);
}

void chat_answer::fold(choice_state& choice, const joined_events& delta) const {
  switch (delta.what) {
    case kind::reasoning: choice.reasoning += delta.text; return;
    case kind::content: choice.content += delta.text; return;
    case kind::tool_call:
      choice.calls.push_back({std::string{delta.call_id}, std::string{delta.name}, delta.text});
      return;
    case kind::tool_arguments: choice.calls[delta.call_index].arguments += delta.text; return;
  }
}

// --- the stream ----------------------------------------------------------------------------------

void chat_answer::begin_chunk(std::uint32_t index, std::string& out) const {
  out += "data: ";
  out += chunk_head_;
  out += "{\"index\":";
  append_integer(out, index);
  out += ",\"delta\":{";
}

/// Closes the delta and says what is due beside it.
void chat_answer::end_choice(choice_state& choice, const choice_end* end, std::string& out) const {
  out += "},\"logprobs\":";
  append_logprobs(out, choice.logprobs);
  choice.logprobs.clear();
  if (end != nullptr) {
    append_end(out, *end);
  } else {
    out += ",\"finish_reason\":null";
  }
  if (options_.return_token_ids) {
    out += ",\"token_ids\":";
    append_tokens(out, choice.tokens);
    choice.tokens.clear();
  }
  out += "}]";
}

void chat_answer::end_chunk(std::string& out) const {
  if (options_.continuous_usage) {
    out += ",\"usage\":";
    append_usage(out, usage());
  }
  out += "}\n\n";
}

void chat_answer::append_delta(const joined_events& delta, std::string& out) const {
  switch (delta.what) {
    case kind::reasoning: return append_reasoning(delta.text, out);
    case kind::content: out += "\"content\":"; return append_json_string(out, delta.text);
    case kind::tool_call:
      out += "\"tool_calls\":[{\"index\":";
      append_integer(out, delta.call_index);
      out += ",\"id\":";
      append_json_string(out, delta.call_id);
      out += ",\"type\":\"function\",\"function\":{\"name\":";
      append_json_string(out, delta.name);
      out += ",\"arguments\":";
      break;
    case kind::tool_arguments:
      out += "\"tool_calls\":[{\"index\":";
      append_integer(out, delta.call_index);
      out += ",\"function\":{\"arguments\":";
      break;
  }
  append_json_string(out, delta.text);
  out += "}}]";
}

/// "reasoning":"..." under the configured name or names. An empty text is null.
void chat_answer::append_reasoning(std::string_view text, std::string& out) const {
  const auto append = [&](std::string_view name) {
    out += name;
    text.empty() ? void(out += "null") : append_json_string(out, text);
  };
  const auto field = identity_.reasoning;
  if (field != reasoning_field::reasoning_content) append("\"reasoning\":");
  if (field == reasoning_field::both) out += ',';
  if (field != reasoning_field::reasoning) append("\"reasoning_content\":");
}

void chat_answer::append_usage_chunk(std::string& out) const {
  const sse_event event{out};
  out += chunk_head_;
  out += "],\"usage\":";
  append_usage(out, usage());
  out += '}';
}

// --- the whole object ----------------------------------------------------------------------------

void chat_answer::append_body(std::string& out) const {
  out += "{\"id\":";
  append_json_string(out, identity_.id);
  out += ",\"object\":\"chat.completion\",\"created\":";
  append_integer(out, identity_.created);
  out += ",\"model\":";
  append_json_string(out, options_.model);
  out += ",\"choices\":[";
  for (std::uint32_t index = 0; index < choices_.size(); ++index) {
    out += index > 0 ? ",{\"index\":" : "{\"index\":";
    append_integer(out, index);
    append_choice(choices_[index], out);
  }
  out += "],\"service_tier\":null,\"system_fingerprint\":null,\"usage\":";
  append_usage(out, usage());
  out += ",\"prompt_logprobs\":";
  if (options_.prompt_logprobs) {
    append_prompt_logprobs(out, prompt_logprobs_);
  } else {
    out += "null";
  }
  out += ",\"prompt_token_ids\":";
  if (options_.return_token_ids) {
    append_tokens(out, identity_.prompt_tokens);
  } else {
    out += "null";
  }
  out += ",\"kv_transfer_params\":null,\"metrics\":null}";
}

void chat_answer::append_choice(const choice_state& choice, std::string& out) const {
  out += ",\"message\":{\"role\":\"assistant\",\"content\":";
  if (choice.content.empty()) {
    out += "null";
  } else {
    append_json_string(out, choice.content);
  }
  out += ",\"refusal\":null,\"annotations\":null,\"audio\":null,\"function_call\":null,";
  if (!choice.calls.empty()) {
    out += "\"tool_calls\":";
    json_writer w{out};
    w.begin_array();
    for (const auto& call : choice.calls) {
      w.begin_object().key("id").string(call.id).key("type").string("function");
      w.key("function").begin_object().key("name").string(call.name);
      w.key("arguments").string(call.arguments).end_object().end_object();
    }
    w.end_array();
    out += ',';
  }
  append_reasoning(choice.reasoning, out);
  out += "},\"logprobs\":";
  append_logprobs(out, choice.logprobs);
  append_end(out, choice.end);
  out += ",\"token_ids\":";
  if (options_.return_token_ids) {
    append_tokens(out, choice.tokens);
  } else {
    out += "null";
  }
  out += '}';
}

}  // namespace glimmer
