#include <fmt/core.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "protocol/openai/chat_messages.hpp"
#include "tokenizer/chat_template.hpp"
#include "tools/cases/cases.hpp"

namespace glimmer {

namespace {

using spans = std::vector<std::pair<std::size_t, std::size_t>>;

spans expected_spans(const json& c) {
  spans out;
  const auto given = c.find("literal_spans");
  if (!given || !given->is_array()) return out;
  for (const json& span : given->elements()) {
    out.emplace_back(span.at(0).integer().value_or(-1), span.at(1).integer().value_or(-1));
  }
  return out;
}

std::string list(const spans& all) {
  std::string out;
  for (const auto& [from, to] : all) out += fmt::format(" [{}, {})", from, to);
  return out.empty() ? " none" : out;
}

}  // namespace

case_failure run_prompt_case(const json& c) {
  const auto expected = c.find("expect_prompt");
  if (!expected || !expected->is_string()) return "expect_prompt is not a string";
  const auto chat = parse_chat_prompt(c);
  if (!chat) return fmt::format("refused: {} ({})", chat.error().text, chat.error().param);

  const auto now = c.find("now");
  const auto prompt = to_text(render_chat(*chat, now && now->is_string() ? now->string() : ""));
  if (auto differs = difference(expected->string(), prompt.text)) return differs;
  if (prompt.literal_spans != expected_spans(c)) {
    return fmt::format("literal spans\n  expected:{}\n  actual:  {}", list(expected_spans(c)),
                       list(prompt.literal_spans));
  }
  return {};
}

case_failure run_tokenizer_case(const json& c, const tokenizer& tokens) {
  const auto text = c.find("text");
  const auto ids = c.find("ids");
  if (!text || !text->is_string() || !ids->is_array()) return "text or ids are missing";
  std::vector<token_id> expected;
  for (const json& id : ids->elements()) {
    expected.push_back(static_cast<token_id>(id.is_number() ? id.integer().value_or(-1) : -1));
  }
  const auto actual = tokens.encode(text->string());
  if (!actual) return actual.error().text;
  if (*actual == expected) return {};
  return fmt::format("  expected: {}\n  actual:   {}", fmt::join(expected, " "),
                     fmt::join(*actual, " "));
}

}  // namespace glimmer
