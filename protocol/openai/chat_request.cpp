#include "protocol/openai/chat_request.hpp"

#include <array>
#include <utility>

#include "protocol/openai/chat_messages.hpp"
#include "protocol/openai/envelope_fields.hpp"
#include "protocol/openai/request_fields.hpp"
#include "protocol/openai/sampling_fields.hpp"

namespace glimmer {

namespace {

constexpr auto unserved = std::to_array<unserved_field>({
    {"add_special_tokens", "is not served: the chat's frame has them."},
    {"audio", "is not served."},
    {"best_of", "must be 1 on chat completions; use completions or n.", "1"},
    {"chat_template", "is not served: the model has its own."},
    {"documents", "is not served; put them into messages."},
    {"echo", "is not served on chat completions."},
    {"function_call", "is not served; use tool_choice."},
    {"functions", "is not served; use tools."},
    {"mm_processor_kwargs", "is not served."},
    {"modalities", "must be [\"text\"]: nothing else is answered.", "text"},
    {"suffix", "is not served."},
    {"verbosity", "must be \"medium\": other lengths are not asked of the model.", "medium"},
    {"web_search_options", "is not served.", "", true},
});

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

void read_channels(const request_fields& request, response_options& out) {
  out.include_reasoning = request.boolean("include_reasoning").value_or(true);
  out.parallel_tool_calls = request.boolean("parallel_tool_calls").value_or(true);
  read_tool_choice(request, out);
}

}  // namespace

result<generation_request> parse_chat_request(std::string_view body, const request_rules& rules) {
  generation_request out;
  auto done = read_body(body, rules, [&](const request_fields& request) {
    out.response.model = read_model(request, rules);
    refuse_unserved(request, unserved);
    read_shape(request, rules, out.response);
    read_channels(request, out.response);
    read_sampling(request, rules, out);
    read_bookkeeping(request, out);
    if (request.wrong().first) return;
    auto chat = read_chat_prompt(request, rules.bounds);
    out.response.tools = chat.tools;
    out.prompt = std::move(chat);
  });
  if (!done) return fail(std::move(done.error()));
  return out;
}

}  // namespace glimmer
