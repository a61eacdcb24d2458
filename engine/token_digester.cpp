#include "engine/token_digester.hpp"

#include <utility>

#include "base/assert.hpp"

namespace glimmer {

namespace {

turn_start start_of(prompt_end end) {
  switch (end) {
    case prompt_end::reasoning: return turn_start::reasoning;
    case prompt_end::content: return turn_start::content;
    case prompt_end::header:
    case prompt_end::closed:
    case prompt_end::text: break;
  }
  return turn_start::header;
}

turn_parser::options parser_options(const digest_context& context, token_digester::origin from) {
  turn_parser::options out;
  out.tools = context.tools;
  out.stops = context.stops;
  out.keep_stop =
      context.include_stop_string ? stop_matcher::keep_match::yes : stop_matcher::keep_match::no;
  out.start = start_of(from.end);
  out.channels = context.chat;
  out.calls.parallel_calls = context.parallel_calls;
  out.calls.ids = context.call_ids;
  out.calls.ids.choice = from.choice;
  return out;
}

}  // namespace

std::shared_ptr<const digest_context> make_digest_context(std::shared_ptr<const tokenizer> tokens,
                                                          const response_options& response,
                                                          call_id_key call_ids) {
  auto out = std::make_shared<digest_context>();
  out->tokens = std::move(tokens);
  out->tools = std::make_shared<tool_catalog>(response.tools,
                                              response.tool_choice != tool_choice_kind::none);
  out->stops = std::make_shared<stop_strings>(response.stop);
  out->call_ids = call_ids;
  out->chat = response.chat;
  out->parallel_calls = response.parallel_tool_calls;
  out->include_stop_string = response.include_stop_string;
  out->show_special_tokens = response.show_special_tokens && !response.chat;
  return out;
}

token_digester::token_digester(std::shared_ptr<const digest_context> context, origin from)
    : context_{std::move(context)},
      text_{context_->tokens},
      parser_{parser_options(*context_, from)},
      min_tokens_{from.min_tokens} {}

token_digester::digested token_digester::push(std::span<const token_id> tokens,
                                              std::vector<turn_event>& out) {
  for (token_id token : tokens) {
    if (parser_.must_stop()) break;
    if (min_tokens_ > 0) parser_.watch_stops(count_ >= min_tokens_);
    take(token, out);
    ++count_;
  }
  digested result;
  if (parser_.must_stop()) {
    result.ended = true;
    result.end_index = count_ - 1;
  }
  if (!parser_.stop_string().empty()) result.stop_string = parser_.stop_string();
  return result;
}

void token_digester::take(token_id token, std::vector<turn_event>& out) {
  if (!text_.is_special(token)) {
    characters_.clear();
    text_.push(token, characters_);
    return parser_.text(characters_, out);
  }
  if (context_->show_special_tokens) {
    flush_text(out);
    return parser_.text(text_.token_bytes(token), out);
  }
  const special_kind kind = kind_of(token);
  if (kind != special_kind::other) flush_text(out);
  parser_.special(kind, out);
}

/// An unfinished character does not reach across structure.
void token_digester::flush_text(std::vector<turn_event>& out) {
  characters_.clear();
  text_.finish(characters_);
  parser_.late_text(characters_, out);
}

special_kind token_digester::kind_of(token_id token) const {
  const tokenizer& tokens = *context_->tokens;
  if (token == tokens.id(control_token::start)) return special_kind::start;
  if (token == tokens.id(control_token::message)) return special_kind::message;
  if (token == tokens.id(control_token::eom)) return special_kind::eom;
  if (token == tokens.id(control_token::eot)) return special_kind::eot;
  if (token == tokens.id(control_token::end_of_text)) return special_kind::eot;
  return special_kind::other;
}

finish_reason token_digester::finish(finish_reason cause, std::vector<turn_event>& out) {
  GLIMMER_ASSERT(cause != finish_reason::tool_calls, "the digester tells whether calls were made");
  flush_text(out);
  return parser_.finish(cause, out);
}

}  // namespace glimmer
