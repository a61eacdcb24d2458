#include "protocol/openai/usage_body.hpp"

#include <cstdint>

#include "base/json.hpp"

namespace glimmer {

void append_usage(std::string& out, const sequence_usage& usage) {
  const auto total = std::uint64_t{usage.prompt_tokens} + usage.completion_tokens;
  json_writer w{out};
  w.begin_object().key("prompt_tokens").unsigned_integer(usage.prompt_tokens);
  w.key("completion_tokens").unsigned_integer(usage.completion_tokens);
  w.key("total_tokens").unsigned_integer(total);
  w.key("prompt_tokens_details").begin_object();
  w.key("cached_tokens").unsigned_integer(usage.cached_tokens).end_object();
  w.key("completion_tokens_details").begin_object();
  w.key("reasoning_tokens").unsigned_integer(usage.reasoning_tokens);
  w.key("accepted_prediction_tokens").integer(0).key("rejected_prediction_tokens").integer(0);
  w.end_object().end_object();
}

}  // namespace glimmer
