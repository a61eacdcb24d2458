// Any tokens through the digester: the fold does not depend on how many come at a time, and what
// it says is JSON that clients can read.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "base/json.hpp"
#include "engine/token_digester.hpp"

namespace glimmer {
namespace {

const std::shared_ptr<const tokenizer>& words() {
  static const auto loaded =
      tokenizer::load(GLIMMER_SOURCE_ROOT "/tests/tokenizer/fixtures/release_like.json");
  GLIMMER_ASSERT(loaded, "the fixture is there");
  return *loaded;
}

/// Each byte is a token of that byte, but for 0xf8 to 0xff, which begin no character: these are
/// special tokens.
token_id token_of(std::uint8_t byte) {
  constexpr control_token special[] = {control_token::start,       control_token::message,
                                       control_token::eom,         control_token::eot,
                                       control_token::end_of_text, control_token::start,
                                       control_token::message,     control_token::patch};
  if (byte >= 0xf8) return words()->id(special[byte - 0xf8]);
  const char raw = static_cast<char>(byte);
  return words()->words().find({&raw, 1}).value_or(words()->id(control_token::eom));
}

response_options options_of(std::uint8_t bits) {
  response_options out;
  const auto schema = json::parse(
      R"({"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"},)"
      R"("list":{"type":"array"},"any":{}}})");
  if (bits & 1) out.tools = {{.name = "note", .parameters = *schema}, {.name = "a.b"}};
  if (bits & 2) out.stop = {"END", "to"};
  if (bits & 4) out.tool_choice = tool_choice_kind::none;
  if (bits & 8) out.chat = false;
  out.parallel_tool_calls = (bits & 16) == 0;
  return out;
}

std::string fold(const response_options& options, std::span<const token_id> tokens,
                 std::size_t step) {
  token_digester digester{make_digest_context(words(), options, {1, 2, 0}), {}};
  std::vector<turn_event> events;
  bool ended = false;
  for (std::size_t at = 0; at < tokens.size() && !ended; at += step) {
    ended = digester.push(tokens.subspan(at, std::min(step, tokens.size() - at)), events).ended;
  }
  const auto how = digester.finish(finish_reason::length, events);
  std::string text[4];
  for (const auto& event : events) {
    text[static_cast<std::size_t>(event.what)] += event.name + event.call_id + event.text;
    std::string quoted;
    append_json_string(quoted, event.text);
    GLIMMER_ASSERT(json::parse(quoted), "texts are UTF-8");
  }
  return text[0] + '\0' + text[1] + '\0' + text[2] + '\0' + text[3] + '\0' +
         std::to_string(static_cast<int>(how)) + ' ' + std::to_string(digester.reasoning_tokens());
}

}  // namespace
}  // namespace glimmer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glimmer;
  if (size < 2) return 0;
  const auto options = options_of(data[0]);
  const std::size_t step = 2 + data[1] % 16;
  std::vector<token_id> tokens;
  for (std::size_t i = 2; i < size; ++i) tokens.push_back(token_of(data[i]));
  const auto whole = fold(options, tokens, size);
  GLIMMER_ASSERT(fold(options, tokens, 1) == whole, "one token at a time says the same");
  GLIMMER_ASSERT(fold(options, tokens, step) == whole, "some tokens at a time say the same");
  return 0;
}
