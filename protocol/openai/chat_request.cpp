#include "protocol/openai/chat_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.hpp"
#include "protocol/openai/chat_messages.hpp"
#include "protocol/openai/request_fields.hpp"
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

void read_model(const request_fields& request, const request_rules& rules, response_options& out) {
  const auto model = request.string("model");
  const auto& served = rules.served_models;
  if (!model) {
    if (!served.empty()) out.model = served.front();
    return;
  }
  out.model = *model;
  if (std::find(served.begin(), served.end(), *model) != served.end()) return;
  request.wrong().add({error_kind::not_found, "model_not_found", "model",
                       fmt::format("The model `{}` does not exist.", shortened(*model))});
}

/// Fields whose silent loss would change the answer. Null, false and empty values ask for nothing.
void refuse_what_is_not_served(const request_fields& request) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 18> fields = {{
      {"audio", "is not served."},
      {"bad_words", "is not served yet."},
      {"chat_template", "is not served: the model has its own."},
      {"echo", "is not served on chat completions."},
      {"function_call", "is not served; use tool_choice."},
      {"functions", "is not served; use tools."},
      {"guided_choice", "is not served yet."},
      {"guided_grammar", "is not served yet."},
      {"guided_json", "is not served yet."},
      {"guided_regex", "is not served yet."},
      {"guided_whitespace_pattern", "is not served yet."},
      {"kv_transfer_params", "is not served."},
      {"logits_processors", "is not served."},
      {"prompt_logprobs", "is not served yet."},
      {"structural_tag", "is not served yet."},
      {"structured_outputs", "is not served yet."},
      {"truncate_prompt_tokens", "is not served yet."},
      {"use_beam_search", "is not served."},
  }};
  for (const auto& [name, why] : fields) {
    const auto value = request.any(name);
    if (!value || (value->is_boolean() && !value->boolean())) continue;
    if ((value->is_array() || value->is_object()) && value->size() == 0) continue;
    request.refuse_unsupported(name, std::string{why});
  }
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

void read_tool_choice(const request_fields& request, response_options& out) {
  const auto choice = request.any("tool_choice");
  if (!choice) return;
  constexpr auto forced = "must be \"none\" or \"auto\"; forced calls are not served yet.";
  if (choice->is_object()) return request.refuse_unsupported("tool_choice", forced);
  const auto name = request.string("tool_choice").value_or("");
  if (name == "none") {
    out.tool_choice = tool_choice_kind::none;
  } else if (name == "required") {
    request.refuse_unsupported("tool_choice", forced);
  } else if (name != "auto") {
    request.refuse("tool_choice", "must be \"none\" or \"auto\".");
  }
}

void read_stream(const request_fields& request, response_options& out) {
  out.stream = request.boolean("stream").value_or(false);
  const auto options = request.object("stream_options");
  if (!options) return;
  if (!out.stream) request.refuse("stream_options", "needs stream to be true.");
  out.include_usage = options->boolean("include_usage").value_or(false);
  out.continuous_usage =
      options->boolean("continuous_usage_stats").value_or(false) && out.include_usage;
}

void read_response(const request_fields& request, const request_rules& rules,
                   response_options& out) {
  read_stream(request, out);
  out.choices = static_cast<std::uint32_t>(
      request.integer("n", {1, static_cast<std::int64_t>(rules.bounds.choices)}).value_or(1));
  out.stop = read_stop_strings(request, rules.bounds);
  out.include_stop_string = request.boolean("include_stop_str_in_output").value_or(false);
  out.include_reasoning = request.boolean("include_reasoning").value_or(true);
  out.return_token_ids = request.boolean("return_token_ids").value_or(false);
  out.parallel_tool_calls = request.boolean("parallel_tool_calls").value_or(true);
  read_tool_choice(request, out);
  read_response_format(request);
}

void read_bookkeeping(const request_fields& request, generation_request& out) {
  constexpr std::int64_t priority_max = 1 << 30;
  out.priority = static_cast<std::int32_t>(
      request.integer("priority", {-priority_max, priority_max}).value_or(0));
  out.fairness_key = request.string("user").value_or("");
  out.cache_salt = request.string("cache_salt").value_or("");
  out.client_name = request.string("request_id").value_or("");
  if (request.any("cache_salt") && out.cache_salt.empty()) {
    request.refuse("cache_salt", "must be a non-empty string.");
  }
}

/// Known fields that change nothing here; their kinds are still checked.
void check_idle_fields(const request_fields& request) {
  request.object("metadata");
  request.boolean("store");
  request.boolean("skip_special_tokens");
  request.boolean("spaces_between_special_tokens");
}

}  // namespace

result<generation_request> parse_chat_request(std::string_view body, const request_rules& rules) {
  const auto parsed = json::parse(body, rules.bounds.json_depth);
  if (!parsed) return fail(parsed.error());
  if (!parsed->is_object()) {
    return fail(bad_value(
        "", fmt::format("The body must be a JSON object, not {}.", kind_in_words(*parsed))));
  }
  refusal wrong;
  const request_fields request{*parsed, "", wrong};
  generation_request out;
  read_model(request, rules, out.response);
  refuse_what_is_not_served(request);
  read_response(request, rules, out.response);
  read_sampling(request, rules, out);
  read_bookkeeping(request, out);
  check_idle_fields(request);
  if (wrong.first) return fail(*std::move(wrong.first));
  auto chat = read_chat_prompt(request, rules.bounds);
  if (wrong.first) return fail(*std::move(wrong.first));
  out.response.tools = chat.tools;
  out.prompt = std::move(chat);
  return out;
}

}  // namespace glimmer
