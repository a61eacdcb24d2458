#include "engine/request_intake.hpp"

#include <fmt/core.h>

#include <array>
#include <ctime>
#include <utility>

#include "engine/random_name.hpp"
#include "protocol/openai/completion_request.hpp"
#include "protocol/openai/tokenize_request.hpp"

namespace glimmer {

std::string local_date(unix_seconds wall) {
  const std::time_t seconds = wall;
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

request_intake::request_intake(intake_rules rules, request_preparer preparer)
    : rules_{std::move(rules)}, preparer_{std::move(preparer)} {}

request_intake::drawn_numbers request_intake::draw(request_id request) const {
  auto drawn = random_series{rules_.process_key}.draw(request.value);
  return {.seed = rules_.seed.value_or(drawn.seed), .name = std::move(drawn.name)};
}

result<std::variant<accepted_request, ready_answer>> request_intake::take(const order& asked,
                                                                          const moment& now) const {
  if (asked.where == route::chat_completions || asked.where == route::completions) {
    auto accepted = accept(asked, now);
    if (!accepted) return fail(std::move(accepted.error()));
    return std::move(*accepted);
  }
  auto ready = answer(asked, now);
  if (!ready) return fail(std::move(ready.error()));
  return std::move(*ready);
}

// ---- what is computed --------------------------------------------------------------------------

result<accepted_request> request_intake::accept(const order& asked, const moment& now) const {
  if (asked.where == route::completions) return accept_completion(asked, now);
  auto parsed = parse_chat_request(asked.body, rules_.requests);
  if (!parsed) return fail(std::move(parsed.error()));
  auto drawn = draw(asked.request);
  auto prepared = preparer_.prepare(*parsed, local_date(now.wall), drawn.seed);
  if (!prepared) return fail(std::move(prepared.error()));
  const auto& name = parsed->client_name.empty() ? drawn.name : parsed->client_name;
  return accepted_request{.request = asked.request,
                          .answer_id = "chatcmpl-" + name,
                          .arrived = now.arrived,
                          .created = now.wall,
                          .response = std::move(parsed->response),
                          .prompts = {std::move(*prepared)},
                          .priority = parsed->priority,
                          .fairness_key = std::move(parsed->fairness_key),
                          .cache_salt = std::move(parsed->cache_salt)};
}

result<accepted_request> request_intake::accept_completion(const order& asked,
                                                           const moment& now) const {
  auto parsed = parse_completion_request(asked.body, rules_.requests);
  if (!parsed) return fail(std::move(parsed.error()));
  auto& shared = parsed->shared;
  auto drawn = draw(asked.request);
  std::vector<prepared_request> prompts;
  prompts.reserve(parsed->prompts.size());
  for (auto& prompt : parsed->prompts) {
    shared.prompt = std::move(prompt);
    auto prepared = preparer_.prepare(shared, {}, drawn.seed + prompts.size());
    if (!prepared) return fail(std::move(prepared.error()));
    prompts.push_back(std::move(*prepared));
  }
  const auto& name = shared.client_name.empty() ? drawn.name : shared.client_name;
  return accepted_request{.request = asked.request,
                          .answer_id = "cmpl-" + name,
                          .arrived = now.arrived,
                          .created = now.wall,
                          .response = std::move(shared.response),
                          .prompts = std::move(prompts),
                          .priority = shared.priority,
                          .fairness_key = std::move(shared.fairness_key),
                          .cache_salt = std::move(shared.cache_salt)};
}

// ---- what is answered at once ------------------------------------------------------------------

result<ready_answer> request_intake::answer(const order& asked, const moment& now) const {
  switch (asked.where) {
    case route::tokenize: return tokenize(asked.body, now);
    case route::detokenize: return detokenize(asked.body);
    default: return render(asked.body, now);
  }
}

result<ready_answer> request_intake::tokenize(std::string_view body, const moment& now) const {
  const auto parsed = parse_tokenize_request(body, rules_.requests);
  if (!parsed) return fail(parsed.error());
  const auto tokens = preparer_.encode(parsed->prompt, local_date(now.wall));
  if (!tokens) return fail(tokens.error());
  std::vector<std::string> strings;
  if (parsed->return_strings) {
    for (const auto token : *tokens) strings.push_back(preparer_.text({&token, 1}));
  }
  return ready_answer{tokenize_body({*tokens, preparer_.context_tokens()}, strings)};
}

result<ready_answer> request_intake::detokenize(std::string_view body) const {
  const auto tokens = parse_detokenize_request(body, rules_.requests);
  if (!tokens) return fail(tokens.error());
  return ready_answer{detokenize_body(preparer_.text(*tokens))};
}

/// The request is held to all rules of a chat, as if it were to be answered.
result<ready_answer> request_intake::render(std::string_view body, const moment& now) const {
  const auto parsed = parse_chat_request(body, rules_.requests);
  if (!parsed) return fail(parsed.error());
  const auto prepared = preparer_.prepare(*parsed, local_date(now.wall), 0);
  if (!prepared) return fail(prepared.error());
  return ready_answer{render_body({*prepared->prompt, preparer_.context_tokens()},
                                  preparer_.text(*prepared->prompt))};
}

}  // namespace glimmer
