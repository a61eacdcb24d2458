#include "scheduler/admission.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace glimmer {

namespace {

error never_fits(std::string_view code, std::string text) {
  return {error_kind::bad_request, std::string{code}, "messages", std::move(text)};
}

error queue_full(std::string text) {
  return {error_kind::overloaded, "queue_full", "", std::move(text)};
}

result<void> check_shape(const sequence_request& request) {
  if (request.choices.empty()) return fail(bad_value("n", "A request needs at least one choice."));
  if (!request.prompt || request.prompt->empty()) {
    return fail(bad_value("prompt", "The prompt is empty; it needs at least one token."));
  }
  if (request.token_window == 0) {
    return fail(bad_value("token_window", "The token window must hold at least one token."));
  }
  for (const auto& choice : request.choices) {
    if (!choice.params) return fail(bad_value("n", "A choice has no sampling parameters."));
  }
  return {};
}

}  // namespace

admission_rules::admission_rules(const scheduler_config& config, std::uint64_t positions_max)
    : max_model_len_{config.max_model_len},
      positions_max_{positions_max},
      queue_max_{.tokens = config.queued_tokens_max, .sequences = config.queued_sequences_max} {}

// The longest output of any choice; each is later cut to its own max_tokens.
result<std::uint32_t> admission_rules::output_max(const sequence_request& request) const {
  const std::uint64_t prompt = request.prompt->size();
  std::uint64_t wanted = 0;
  for (const auto& choice : request.choices) {
    wanted = std::max<std::uint64_t>(wanted, choice.params->max_tokens);
  }
  const std::uint64_t least = wanted > 0 ? 1 : 0;
  if (prompt + least > max_model_len_) {
    return fail(never_fits(
        "context_length_exceeded",
        fmt::format("The prompt has {} tokens and the answer needs at least {}, but the context "
                    "holds {} tokens.",
                    prompt, least, max_model_len_)));
  }
  if (prompt > positions_max_) {
    return fail(never_fits(
        "kv_capacity_exceeded",
        fmt::format("The prompt has {} tokens, but the KV cache holds {} tokens of one sequence.",
                    prompt, positions_max_)));
  }
  return static_cast<std::uint32_t>(
      std::min({wanted, max_model_len_ - prompt, positions_max_ + 1 - prompt}));
}

result<admission> admission_rules::check(const sequence_request& request, queue_load load) const {
  if (const auto shape = check_shape(request); !shape) return fail(shape.error());
  const auto output = output_max(request);
  if (!output) return fail(output.error());
  const std::uint64_t tokens = request.prompt->size();
  if (load.tokens > 0 && load.tokens + tokens > queue_max_.tokens) {
    return fail(queue_full(
        fmt::format("{} prompt tokens wait already and this request adds {}; at most {} may wait.",
                    load.tokens, tokens, queue_max_.tokens)));
  }
  if (load.sequences > 0 && load.sequences + request.choices.size() > queue_max_.sequences) {
    return fail(queue_full(
        fmt::format("{} sequences wait already and this request adds {}; at most {} may wait.",
                    load.sequences, request.choices.size(), queue_max_.sequences)));
  }
  return admission{.output_max = *output};
}

}  // namespace glimmer
