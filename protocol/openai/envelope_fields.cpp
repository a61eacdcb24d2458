#include "protocol/openai/envelope_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/json.hpp"
#include "protocol/openai/sampling_fields.hpp"

namespace glimmer {

namespace {

/// Names come back in an error, but not whole novels.
std::string shortened(std::string_view text) {
  constexpr std::size_t bytes_max = 128;
  if (text.size() <= bytes_max) return std::string{text};
  auto end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string{text.substr(0, end)} + "...";
}

constexpr auto unserved_everywhere = std::to_array<unserved_field>({
    {"ebnf", "is not served yet."},
    {"grammar", "is not served yet."},
    {"guided_choice", "is not served yet."},
    {"guided_grammar", "is not served yet."},
    {"guided_json", "is not served yet."},
    {"guided_regex", "is not served yet."},
    {"guided_whitespace_pattern", "is not served yet."},
    {"json_schema", "is not served yet."},
    {"kv_transfer_params", "is not served."},
    {"length_penalty", "must be 1: beams are not searched.", "1"},
    {"logits_processors", "is not served."},
    {"regex", "is not served yet."},
    {"repetition_detection", "is not served."},
    {"return_tokens_as_token_ids", "is not served; use return_token_ids."},
    {"structural_tag", "is not served yet."},
    {"structured_outputs", "is not served yet."},
    {"thinking_token_budget", "is not served yet."},
    {"use_beam_search", "is not served."},
    {"vllm_xargs", "is not served."},
});

void read_stream(const request_fields& request, response_options& out) {
  out.stream = request.boolean("stream").value_or(false);
  const auto options = request.object("stream_options");
  if (!options) return;
  if (!out.stream) request.refuse("stream_options", "needs stream to be true.");
  out.include_usage = options->boolean("include_usage").value_or(false);
  out.continuous_usage =
      options->boolean("continuous_usage_stats").value_or(false) && out.include_usage;
}

void read_response_format(const request_fields& request) {
  const auto format = request.object("response_format");
  if (!format) return;
  const auto type = format->string("type").value_or("");
  if (type == "text") return;
  if (type == "json_object" || type == "json_schema" || type == "structural_tag") {
    format->refuse_unsupported("type", "must be \"text\"; constrained answers are not served yet.");
  } else {
    format->refuse("type", "must be \"text\".");
  }
}

/// Whether a value asks for what the server does anyway.
bool is_neutral(const json& value, std::string_view neutral) {
  if (value.is_array() && value.size() == 1) return is_neutral(value.at(0), neutral);
  if (value.is_string()) return value.string() == neutral;
  return value.is_number() && neutral == "1" && value.number() == 1;
}

void refuse_fields(const request_fields& request, std::span<const unserved_field> fields) {
  for (const auto& field : fields) {
    const auto value = request.any(field.name);
    if (!value || (value->is_boolean() && !value->boolean())) continue;
    const bool empty = (value->is_array() || value->is_object()) && value->size() == 0;
    if (empty && !field.asks_when_empty) continue;
    if (!field.neutral.empty() && is_neutral(*value, field.neutral)) continue;
    request.refuse_unsupported(field.name, std::string{field.why});
  }
}

/// A name that is kept as it is, hence not of any length.
std::string read_name(const request_fields& request, std::string_view field,
                      std::size_t bytes_max) {
  const auto name = request.string(field).value_or("");
  if (name.size() <= bytes_max) return std::string{name};
  request.refuse(field, fmt::format("must be a string of at most {} bytes.", bytes_max));
  return {};
}

}  // namespace

result<void> read_body(std::string_view body, const request_rules& rules,
                       const std::function<void(const request_fields&)>& read) {
  const auto parsed = json::parse(body, rules.bounds.json_depth);
  if (!parsed) return fail(parsed.error());
  if (!parsed->is_object()) {
    return fail(bad_value(
        "", fmt::format("The body must be a JSON object, not {}.", kind_in_words(*parsed))));
  }
  refusal wrong;
  read(request_fields{*parsed, "", wrong});
  if (wrong.first) return fail(*std::move(wrong.first));
  return {};
}

std::string read_model(const request_fields& request, const request_rules& rules) {
  const auto model = request.string("model");
  const auto& served = rules.served_models;
  if (!model) return served.empty() ? std::string{} : served.front();
  if (std::ranges::find(served, *model) == served.end()) {
    request.wrong().add({error_kind::not_found, "model_not_found", "model",
                         fmt::format("The model `{}` does not exist.", shortened(*model))});
  }
  return std::string{*model};
}

void refuse_unserved(const request_fields& request, std::span<const unserved_field> fields) {
  refuse_fields(request, fields);
  refuse_fields(request, unserved_everywhere);
}

void read_shape(const request_fields& request, const request_rules& rules, response_options& out) {
  read_stream(request, out);
  out.choices = static_cast<std::uint32_t>(
      request.integer("n", {1, static_cast<std::int64_t>(rules.bounds.choices)}).value_or(1));
  out.stop = read_stop_strings(request, rules.bounds);
  out.include_stop_string = request.boolean("include_stop_str_in_output").value_or(false);
  out.return_token_ids = request.boolean("return_token_ids").value_or(false);
  read_response_format(request);
}

void read_bookkeeping(const request_fields& request, generation_request& out) {
  constexpr std::int64_t priority_max = 1 << 30;
  out.priority = static_cast<std::int32_t>(
      request.integer("priority", {-priority_max, priority_max}).value_or(0));
  out.fairness_key = read_name(request, "user", 512);
  out.cache_salt = read_name(request, "cache_salt", 512);
  out.client_name = read_name(request, "request_id", 128);
  if (request.any("cache_salt") && out.cache_salt.empty()) {
    request.refuse("cache_salt", "must be a non-empty string.");
  }
  request.object("metadata");
  request.boolean("store");
  request.boolean("skip_special_tokens");
  request.boolean("spaces_between_special_tokens");
}

}  // namespace glimmer
