#include "protocol/openai/sampling_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace glimmer {

namespace {

constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();

// Smaller values vanish when logits are divided by them in single precision, or leave nothing of a
// cumulative sum. Larger ones are noise.
constexpr double smallest_fraction = 1e-7;
constexpr double temperature_max = 1000;

constexpr std::int64_t completion_tokens_default = 16;

void read_into(float& out, const request_fields& request, std::string_view name,
               number_range range) {
  if (const auto value = request.number(name, range)) out = static_cast<float>(*value);
}

void read_filters(const request_fields& request, sampling_params& out) {
  read_into(out.temperature, request, "temperature", {0, temperature_max});
  if (out.temperature > 0 && out.temperature < smallest_fraction) {
    request.refuse("temperature", fmt::format("must be 0 (greedy) or a number from {} to {}.",
                                              smallest_fraction, temperature_max));
  }
  read_into(out.top_p, request, "top_p", {smallest_fraction, 1});
  read_into(out.min_p, request, "min_p", {0, 1});
  if (const auto top_k = request.integer("top_k", {-1, int32_max})) {
    out.top_k = static_cast<std::int32_t>(std::max<std::int64_t>(*top_k, 0));
  }
}

void read_penalties(const request_fields& request, sampling_params& out) {
  read_into(out.presence_penalty, request, "presence_penalty", {-2, 2});
  read_into(out.frequency_penalty, request, "frequency_penalty", {-2, 2});
  read_into(out.repetition_penalty, request, "repetition_penalty", {0.01, 100});
}

void read_seed(const request_fields& request, generation_request& out) {
  const auto seed = request.integer("seed");
  // -1 is a habit of clients that want none.
  if (!seed || *seed == -1) return;
  out.has_seed = true;
  out.sampling.seed = static_cast<std::uint64_t>(*seed);
}

void read_lengths(const request_fields& request, const request_rules& rules,
                  generation_request& out) {
  auto& sampling = out.sampling;
  const bool chat = out.response.chat;
  const std::int64_t least = chat ? 1 : 0;  // a prompt may be scored without an answer
  auto tokens = request.integer("max_tokens", {least, int32_max});
  const auto asked = request.integer("max_completion_tokens", {least, int32_max});
  if (asked) tokens = asked;
  if (!tokens && !chat) tokens = completion_tokens_default;
  const std::int64_t cap = rules.defaults.max_tokens;
  out.has_max_tokens = tokens || cap != 0;
  if (tokens) {
    const auto capped = cap == 0 ? *tokens : std::min(*tokens, cap);
    sampling.max_tokens = static_cast<std::uint32_t>(capped);
  }
  sampling.min_tokens =
      static_cast<std::uint32_t>(request.integer("min_tokens", {0, int32_max}).value_or(0));
  if (out.has_max_tokens && sampling.min_tokens > sampling.max_tokens) {
    request.refuse("min_tokens",
                   fmt::format("must not exceed max_tokens, which is {}.", sampling.max_tokens));
  }
  sampling.ignore_eos = request.boolean("ignore_eos").value_or(false);
}

/// Completions give the number itself.
void read_counted_logprobs(const request_fields& request, const limits& bounds,
                           generation_request& out) {
  if (const auto top = request.integer("logprobs", {0, bounds.top_logprobs})) {
    out.sampling.logprobs = static_cast<std::uint32_t>(*top);
  }
}

void read_chat_logprobs(const request_fields& request, const limits& bounds,
                        generation_request& out) {
  const bool wanted = request.boolean("logprobs").value_or(false);
  const auto top = request.integer("top_logprobs", {0, bounds.top_logprobs});
  if (top.value_or(0) > 0 && !wanted) {
    request.refuse("top_logprobs", "needs logprobs to be true.");
  }
  if (wanted) out.sampling.logprobs = static_cast<std::uint32_t>(top.value_or(0));
}

void read_logprobs(const request_fields& request, const limits& bounds, generation_request& out) {
  out.response.chat ? read_chat_logprobs(request, bounds, out)
                    : read_counted_logprobs(request, bounds, out);
  out.response.logprobs = out.sampling.logprobs;
  const auto prompt = request.integer("prompt_logprobs", {0, bounds.top_logprobs});
  if (!prompt) return;
  if (out.response.stream) request.refuse("prompt_logprobs", "cannot be streamed.");
  out.sampling.prompt_logprobs = static_cast<std::uint32_t>(*prompt);
  out.response.prompt_logprobs = out.sampling.prompt_logprobs;
}

void read_bad_words(const request_fields& request, const limits& bounds, generation_request& out) {
  const auto list = request.array("bad_words", bounds.bad_words);
  if (!list) return;
  for (auto value = list->first(); value; value = value->next()) {
    const bool fits = value->is_string() && !value->string().empty() &&
                      value->string().size() <= bounds.stop_string_bytes;
    if (!fits) {
      return request.refuse(
          element_path("bad_words", out.bad_words.size()),
          fmt::format("must be a string of 1 to {} bytes.", bounds.stop_string_bytes));
    }
    out.bad_words.emplace_back(value->string());
  }
}

void read_truncation(const request_fields& request, generation_request& out) {
  const auto kept = request.integer("truncate_prompt_tokens", {-1, int32_max});
  if (kept == 0) request.refuse("truncate_prompt_tokens", "must be -1 or at least 1.");
  if (kept) out.prompt_tokens_kept = static_cast<std::int32_t>(*kept);
}

std::string not_a_token(std::uint32_t vocab_tokens) {
  return fmt::format("must be a token id from 0 to {}.", vocab_tokens - 1);
}

/// Token ids without repetition, sorted.
std::vector<token_id> read_tokens(const request_fields& request, std::string_view name,
                                  std::uint32_t vocab_tokens) {
  std::vector<token_id> tokens;
  const auto list = request.array(name, vocab_tokens);
  if (!list) return tokens;
  tokens.reserve(list->size());
  for (auto value = list->first(); value; value = value->next()) {
    const auto id = whole_number(*value);
    if (!id || *id < 0 || *id >= vocab_tokens) {
      request.refuse(element_path(name, tokens.size()), not_a_token(vocab_tokens));
      return {};
    }
    tokens.push_back(static_cast<token_id>(*id));
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

std::optional<token_id> token_named(std::string_view name, std::uint32_t vocab_tokens) {
  constexpr std::size_t digits_max = 10;  // names come back in errors
  std::uint32_t id = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), id);
  const bool whole =
      name.size() <= digits_max && read.ec == std::errc{} && read.ptr == name.data() + name.size();
  if (!whole || id >= vocab_tokens) return std::nullopt;
  return static_cast<token_id>(id);
}

void read_logit_bias(const request_fields& request, const request_rules& rules,
                     sampling_params& out) {
  const auto bias = request.object("logit_bias", rules.bounds.logit_bias_entries);
  if (!bias) return;
  for (auto entry = bias->value().first(); entry; entry = entry->next()) {
    const auto token = token_named(entry->key(), rules.vocab_tokens);
    if (!token) {
      return request.refuse("logit_bias", fmt::format("has a key that is no token id from 0 to {}.",
                                                      rules.vocab_tokens - 1));
    }
    const double value = entry->is_number() ? entry->number() : 101;
    if (!(value >= -100 && value <= 100)) {
      return bias->refuse(entry->key(), "must be a number from -100 to 100.");
    }
    out.logit_bias.emplace_back(*token, static_cast<float>(value));
  }
  std::sort(out.logit_bias.begin(), out.logit_bias.end());
  const auto twice =
      std::adjacent_find(out.logit_bias.begin(), out.logit_bias.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != out.logit_bias.end()) {
    request.refuse("logit_bias", fmt::format("names token {} twice.", twice->first));
  }
}

void read_token_lists(const request_fields& request, const request_rules& rules,
                      sampling_params& out) {
  out.stop_token_ids = read_tokens(request, "stop_token_ids", rules.vocab_tokens);
  out.allowed_token_ids = read_tokens(request, "allowed_token_ids", rules.vocab_tokens);
  if (request.any("allowed_token_ids") && out.allowed_token_ids.empty()) {
    request.refuse("allowed_token_ids", "must not be empty.");
  }
  read_logit_bias(request, rules, out);
}

}  // namespace

void read_sampling(const request_fields& request, const request_rules& rules,
                   generation_request& out) {
  out.sampling = rules.defaults;
  read_filters(request, out.sampling);
  read_penalties(request, out.sampling);
  read_seed(request, out);
  read_lengths(request, rules, out);
  read_logprobs(request, rules.bounds, out);
  read_token_lists(request, rules, out.sampling);
  read_bad_words(request, rules.bounds, out);
  read_truncation(request, out);
}

std::vector<std::string> read_stop_strings(const request_fields& request, const limits& bounds) {
  std::vector<std::string> stops;
  const auto stop = request.any("stop");
  if (!stop) return stops;
  const auto fits = [&bounds](const json& value) {
    return value.is_string() && !value.string().empty() &&
           value.string().size() <= bounds.stop_string_bytes;
  };
  const auto allowed = fmt::format("a string of 1 to {} bytes", bounds.stop_string_bytes);
  if (!stop->is_array()) {
    if (fits(*stop)) {
      stops.emplace_back(stop->string());
    } else {
      request.refuse("stop", fmt::format("must be {} or an array of such strings.", allowed));
    }
    return stops;
  }
  const auto list = request.array("stop", bounds.stop_strings);
  if (!list) return stops;
  for (auto value = list->first(); value; value = value->next()) {
    if (!fits(*value)) {
      request.refuse(element_path("stop", stops.size()), fmt::format("must be {}.", allowed));
      break;
    }
    stops.emplace_back(value->string());
  }
  return stops;
}

}  // namespace glimmer
