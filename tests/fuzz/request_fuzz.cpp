// Any body through every reader of bodies, and through rendering and encoding: an answer or a
// refusal with words, never a crash.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assert.hpp"
#include "base/json.hpp"
#include "engine/request_intake.hpp"
#include "protocol/openai/error_body.hpp"

namespace glimmer {
namespace {

const request_intake& intake() {
  static const auto words =
      tokenizer::load(GLIMMER_SOURCE_ROOT "/tests/tokenizer/fixtures/release_like.json");
  GLIMMER_ASSERT(words, "the fixture is there");
  static const auto vocab = static_cast<std::uint32_t>((*words)->words().size());
  static const request_intake made{
      {.requests = {.served_models = {"m"}, .defaults = {}, .vocab_tokens = vocab, .bounds = {}},
       .seed = 1},
      request_preparer{*words, {.context_tokens = 4096, .vocab_tokens = vocab}}};
  return made;
}

}  // namespace
}  // namespace glimmer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glimmer;
  const std::string_view body{reinterpret_cast<const char*>(data), size};
  for (const auto where : {route::chat_completions, route::completions, route::tokenize,
                           route::detokenize, route::chat_render}) {
    const auto taken = intake().take({.request = {1}, .where = where, .body = body}, {});
    if (!taken) {
      GLIMMER_ASSERT(!taken.error().text.empty(), "a refusal says why");
      GLIMMER_ASSERT(taken.error().kind != error_kind::bug, "a client cannot cause our bugs");
      GLIMMER_ASSERT(json::parse(error_response(taken.error()).body), "a refusal is JSON");
    } else if (const auto* ready = std::get_if<ready_answer>(&*taken)) {
      GLIMMER_ASSERT(json::parse(ready->body), "an answer is JSON");
    }
  }
  return 0;
}
