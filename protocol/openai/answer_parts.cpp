#include "protocol/openai/answer_parts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <variant>

#include "base/assert.hpp"
#include "base/json.hpp"

namespace glimmer {

namespace {

std::string_view word_of(finish_reason reason) {
  switch (reason) {
    case finish_reason::stop: return "stop";
    case finish_reason::length: return "length";
    case finish_reason::tool_calls: return "tool_calls";
    case finish_reason::cancelled: break;
    case finish_reason::error: break;
  }
  GLIMMER_ASSERT(false, "what is neither stop, length nor tool_calls is an abort");
  return {};
}

void append_id(std::string& out, token_id token) {
  std::array<char, 16> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), token).ptr;
  out.append(buffer.data(), end);
}

struct ranked_token {
  token_id id = 0;
  std::string_view text;
  float logprob = 0;
  std::size_t rank = 0;  // from 1; 0 = not known
};

void append_ranked(std::string& out, const ranked_token& token) {
  out += '"';
  append_id(out, token.id);
  out += "\":{\"logprob\":";
  append_finite(out, token.logprob);
  out += ",\"rank\":" + (token.rank > 0 ? std::to_string(token.rank) : std::string{"null"});
  out += ",\"decoded_token\":" + lossy_json_string(token.text) + '}';
}

}  // namespace

void append_tokens(std::string& out, std::span<const token_id> tokens) {
  out += '[';
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += ',';
    append_id(out, tokens[i]);
  }
  out += ']';
}

void append_end(std::string& out, const choice_end& end) {
  out += ",\"finish_reason\":\"";
  out += word_of(end.reason);
  out += "\",\"stop_reason\":";
  if (const auto* text = std::get_if<std::string>(&end.cause)) {
    append_json_string(out, *text);
  } else if (const auto* token = std::get_if<token_id>(&end.cause)) {
    append_id(out, *token);
  } else {
    out += "null";
  }
}

void append_prompt_logprobs(std::string& out, std::span<const spelled_logprob> entries) {
  out += "[null";
  for (const auto& entry : entries) {
    const auto at = std::ranges::find(entry.top_ids, entry.id) - entry.top_ids.begin();
    const auto rank = static_cast<std::size_t>(at) + 1;
    out += ",{";
    append_ranked(out,
                  {entry.id, entry.token, entry.logprob, rank <= entry.top_ids.size() ? rank : 0});
    for (std::size_t i = 0; i < entry.top.size(); ++i) {
      if (entry.top_ids[i] == entry.id) continue;
      out += ',';
      append_ranked(out, {entry.top_ids[i], entry.top[i].first, entry.top[i].second, i + 1});
    }
    out += '}';
  }
  out += ']';
}

}  // namespace glimmer
