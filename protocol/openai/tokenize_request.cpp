#include "protocol/openai/tokenize_request.hpp"

#include <utility>

#include "base/json.hpp"
#include "protocol/openai/chat_messages.hpp"
#include "protocol/openai/envelope_fields.hpp"
#include "protocol/openai/logprobs.hpp"
#include "protocol/openai/request_fields.hpp"

namespace glimmer {

namespace {

void append_ids(json_writer& w, std::span<const token_id> tokens) {
  w.begin_array();
  for (const auto token : tokens) w.integer(token);
  w.end_array();
}

prompt_source read_prompt(const request_fields& request, const limits& bounds) {
  if (request.any("messages")) return read_chat_prompt(request, bounds);
  const auto text = request.string("prompt");
  if (!text) request.refuse("prompt", "must be a string; or send messages.");
  return text_prompt{std::string{text.value_or("")},
                     request.boolean("add_special_tokens").value_or(true)};
}

}  // namespace

result<tokenize_request> parse_tokenize_request(std::string_view body, const request_rules& rules) {
  tokenize_request out;
  auto done = read_body(body, rules, [&](const request_fields& request) {
    read_model(request, rules);
    out.return_strings = request.boolean("return_token_strs").value_or(false);
    out.prompt = read_prompt(request, rules.bounds);
  });
  if (!done) return fail(std::move(done.error()));
  return out;
}

result<std::vector<token_id>> parse_detokenize_request(std::string_view body,
                                                       const request_rules& rules) {
  std::vector<token_id> out;
  auto done = read_body(body, rules, [&](const request_fields& request) {
    read_model(request, rules);
    const auto list = request.any("tokens");
    if (!list || !list->is_array()) return request.refuse("tokens", "must be a list of token ids.");
    for (auto value = list->first(); value; value = value->next()) {
      const auto id = whole_number(*value);
      if (!id || *id < 0 || *id >= rules.vocab_tokens) {
        return request.refuse(element_path("tokens", out.size()), "must be a token id.");
      }
      out.push_back(static_cast<token_id>(*id));
    }
  });
  if (!done) return fail(std::move(done.error()));
  return out;
}

std::string tokenize_body(const tokenized_prompt& prompt, std::span<const std::string> strings) {
  std::string out;
  json_writer w{out};
  w.begin_object().key("count").unsigned_integer(prompt.tokens.size());
  w.key("max_model_len").unsigned_integer(prompt.context_tokens);
  w.key("tokens");
  append_ids(w, prompt.tokens);
  w.key("token_strs");
  if (strings.empty()) {
    w.null();
  } else {
    w.begin_array();
    for (const auto& text : strings) w.raw(lossy_json_string(text));
    w.end_array();
  }
  w.end_object();
  return out;
}

std::string detokenize_body(std::string_view text) {
  std::string out;
  json_writer{out}.begin_object().key("prompt").raw(lossy_json_string(text)).end_object();
  return out;
}

std::string render_body(const tokenized_prompt& prompt, std::string_view text) {
  std::string out;
  json_writer w{out};
  w.begin_object().key("prompt").raw(lossy_json_string(text));
  w.key("prompt_token_ids");
  append_ids(w, prompt.tokens);
  w.key("count").unsigned_integer(prompt.tokens.size());
  w.key("max_model_len").unsigned_integer(prompt.context_tokens).end_object();
  return out;
}

}  // namespace glimmer
