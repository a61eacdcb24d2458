#include "protocol/openai/completion_request.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/json.hpp"
#include "protocol/openai/envelope_fields.hpp"
#include "protocol/openai/request_fields.hpp"
#include "protocol/openai/sampling_fields.hpp"

namespace glimmer {

namespace {

constexpr auto unserved = std::to_array<unserved_field>({
    {"prompt_embeds", "is not served."},
    {"suffix", "is not served."},
    {"tool_choice", "is not served on completions; use chat completions."},
    {"tools", "is not served on completions; use chat completions."},
});

/// Lists of ids are long: they are walked once and not counted first.
std::optional<token_prompt> read_ids(const request_fields& request, const json& list,
                                     const std::string& path) {
  token_prompt out;
  for (auto value = list.first(); value; value = value->next()) {
    const auto id = whole_number(*value);
    if (!id || *id < 0 || *id > std::numeric_limits<token_id>::max()) {
      request.refuse(element_path(path, out.tokens.size()), "must be a token id.");
      return std::nullopt;
    }
    out.tokens.push_back(static_cast<token_id>(*id));
  }
  return out;
}

std::vector<prompt_source> read_prompts(const request_fields& request, const limits& bounds) {
  std::vector<prompt_source> prompts;
  const bool bos = request.boolean("add_special_tokens").value_or(true);
  const auto prompt = request.any("prompt");
  constexpr auto allowed =
      "must be a string, a list of strings, a list of token ids or a list of such lists.";
  if (prompt && prompt->is_string()) {
    return {text_prompt{std::string{prompt->string()}, bos}};
  }
  const auto first = prompt && prompt->is_array() ? prompt->first() : std::nullopt;
  if (!first) {
    request.refuse("prompt", allowed);
    return prompts;
  }
  if (first->is_number()) {
    if (auto ids = read_ids(request, *prompt, "prompt")) prompts.emplace_back(std::move(*ids));
    return prompts;
  }
  const auto list = request.array("prompt", bounds.prompts);
  if (!list) return prompts;
  for (auto value = list->first(); value; value = value->next()) {
    const auto path = element_path("prompt", prompts.size());
    if (value->is_string() && first->is_string()) {
      prompts.emplace_back(text_prompt{std::string{value->string()}, bos});
    } else if (value->is_array() && first->is_array()) {
      auto ids = read_ids(request, *value, path);
      if (!ids) break;
      prompts.emplace_back(std::move(*ids));
    } else {
      request.refuse("prompt", allowed);
      break;
    }
  }
  return prompts;
}

void read_best_of(const request_fields& request, const limits& bounds, generation_request& out) {
  auto& response = out.response;
  const auto best_of = request.integer("best_of", {1, static_cast<std::int64_t>(bounds.choices)});
  if (!best_of) return;
  response.best_of = static_cast<std::uint32_t>(*best_of);
  if (response.best_of < response.choices) {
    return request.refuse("best_of",
                          fmt::format("must be at least n, which is {}.", response.choices));
  }
  if (response.best_of == response.choices) return;
  if (response.stream)
    return request.refuse("best_of", "cannot be streamed: the best are known last.");
  if (!out.sampling.logprobs) out.sampling.logprobs = 0;  // what they are compared by
}

void read_echo(const request_fields& request, generation_request& out) {
  out.response.echo = request.boolean("echo").value_or(false);
  if (!out.response.echo || !out.response.logprobs) return;
  out.sampling.prompt_logprobs = out.response.logprobs;
}

}  // namespace

result<completion_request> parse_completion_request(std::string_view body,
                                                    const request_rules& rules) {
  completion_request out;
  auto done = read_body(body, rules, [&](const request_fields& request) {
    auto& shared = out.shared;
    shared.response.chat = false;
    shared.response.model = read_model(request, rules);
    refuse_unserved(request, unserved);
    read_shape(request, rules, shared.response);
    shared.response.show_special_tokens = !request.boolean("skip_special_tokens").value_or(true);
    read_sampling(request, rules, shared);
    read_best_of(request, rules.bounds, shared);
    read_echo(request, shared);
    read_bookkeeping(request, shared);
    if (request.wrong().first) return;
    out.prompts = read_prompts(request, rules.bounds);
    const auto sequences = out.prompts.size() * shared.response.sequences();
    if (sequences > rules.bounds.sequences) {
      request.refuse("prompt",
                     fmt::format("asks for {} answers in all; at most {} are computed for "
                                 "one request.",
                                 sequences, rules.bounds.sequences));
    }
  });
  if (!done) return fail(std::move(done.error()));
  return out;
}

}  // namespace glimmer
