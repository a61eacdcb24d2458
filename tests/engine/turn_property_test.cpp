#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "engine/token_digester.hpp"
#include "protocol/openai/chat_response.hpp"
#include "tests/parsers/random_turn.hpp"
#include "tests/tokenizer/fixture.hpp"

namespace glimmer::test {

namespace {

constexpr std::uint64_t seed = 20261130;
constexpr call_id_key call_ids{1, 2, 0};

response_options options_of_turn(turn_source& source) {
  response_options out;
  const auto parameters = parse_json(
      R"({"properties":{"text":{"type":"string"},"line":{"type":"integer"},"tree":{}}})");
  if (source.below(5) > 0) {
    out.tools = {{.name = "dice", .description = {}, .parameters = {}},
                 {.name = "note", .description = {}, .parameters = parameters}};
  }
  if (source.below(4) == 0) out.stop = {"END", "\nEN", "x x"};
  if (source.below(8) == 0) out.tool_choice = tool_choice_kind::none;
  out.parallel_tool_calls = source.below(8) > 0;
  out.include_stop_string = source.below(2) == 0;
  return out;
}

/// The turn as tokens: text in random words of the vocabulary, down to single bytes, so that
/// characters fall apart as they do when a model writes.
std::vector<token_id> tokens_of(turn_source& source, const pieces& turn) {
  const vocabulary& words = release_like()->words();
  std::vector<token_id> out;
  for (const auto& piece : turn) {
    if (piece.special) {
      constexpr control_token marks[] = {control_token::start, control_token::message,
                                         control_token::eom, control_token::eot};
      out.push_back(release_like()->id(marks[static_cast<std::size_t>(*piece.special)]));
    }
    for (std::string_view rest = piece.text; !rest.empty();) {
      auto bytes = std::min<std::size_t>(1 + source.below(6), rest.size());
      while (bytes > 1 && !words.find(rest.substr(0, bytes))) --bytes;
      out.push_back(words.find(rest.substr(0, bytes)).value());
      rest.remove_prefix(bytes);
    }
  }
  return out;
}

/// What a client puts together of an answer.
struct folded {
  std::string reasoning, content, finish;
  std::vector<std::string> calls;  // id, name and arguments

  bool operator==(const folded&) const = default;
};

std::ostream& operator<<(std::ostream& out, const folded& one) {
  out << "reasoning: " << one.reasoning << "\ncontent: " << one.content << "\n" << one.finish;
  for (const auto& call : one.calls) out << "\ncall: " << call;
  return out;
}

std::string text_of(const json& object, std::string_view name) {
  const auto value = object.find(name);
  return value && value->is_string() ? std::string{value->string()} : "";
}

folded fold_of_stream(std::string_view stream) {
  folded out;
  constexpr std::string_view mark = "data: ";
  while (!stream.starts_with("data: [DONE]")) {
    const auto end = stream.find("\n\n");
    const auto chunk = parse_json(stream.substr(mark.size(), end - mark.size()));
    stream.remove_prefix(end + 2);
    const auto choice = chunk.find("choices")->at(0);
    const auto delta = *choice.find("delta");
    out.reasoning += text_of(delta, "reasoning");
    out.content += text_of(delta, "content");
    out.finish = text_of(choice, "finish_reason");
    const auto calls = delta.find("tool_calls");
    if (!calls) continue;
    const auto call = calls->at(0);
    const auto index = static_cast<std::size_t>(*call.find("index")->integer());
    if (index == out.calls.size()) {
      out.calls.push_back(text_of(call, "id") + " " + text_of(*call.find("function"), "name"));
    }
    out.calls.at(index) += text_of(*call.find("function"), "arguments");
  }
  return out;
}

folded fold_of_body(std::string_view body) {
  const auto choice = parse_json(body).find("choices")->at(0);
  const auto message = *choice.find("message");
  folded out{text_of(message, "reasoning"),
             text_of(message, "content"),
             text_of(choice, "finish_reason"),
             {}};
  const auto calls = message.find("tool_calls");
  if (!calls) return out;
  for (const json& call : calls->elements()) {
    const auto function = *call.find("function");
    out.calls.push_back(text_of(call, "id") + " " + text_of(function, "name") +
                        text_of(function, "arguments"));
  }
  return out;
}

/// The turn read at once, without tokens, digesters or answers.
folded batch_parse(const digest_context& context, const pieces& turn, finish_reason how) {
  turn_parser::options options;
  options.tools = context.tools;
  options.stops = context.stops;
  options.keep_stop =
      context.include_stop_string ? stop_matcher::keep_match::yes : stop_matcher::keep_match::no;
  options.calls.parallel_calls = context.parallel_calls;
  options.calls.ids = call_ids;
  turn_parser parser{options};
  std::vector<turn_event> events;
  for (const auto& piece : turn) {
    piece.special ? parser.special(*piece.special, events) : parser.text(piece.text, events);
  }
  const auto cause = parser.must_stop() ? finish_reason::stop : how;
  const auto end = parser.finish(cause, events);
  folded out;
  for (const auto& event : events) {
    switch (event.what) {
      case turn_event::kind::reasoning: out.reasoning += event.text; break;
      case turn_event::kind::content: out.content += event.text; break;
      case turn_event::kind::tool_call:
        out.calls.push_back(event.call_id + " " + event.name);
        break;
      case turn_event::kind::tool_arguments: out.calls.at(event.call_index) += event.text; break;
    }
  }
  out.finish = end == finish_reason::tool_calls ? "tool_calls"
               : end == finish_reason::length   ? "length"
                                                : "stop";
  return out;
}

/// The turn as a server answers it: some tokens at a time.
std::string answer_of(const std::shared_ptr<const digest_context>& context,
                      const response_options& options, std::span<const token_id> tokens,
                      finish_reason how, turn_source& source) {
  token_digester digester{context, {}};
  chat_answer answer{options, {.id = "chatcmpl-1"}};
  std::string out;
  answer.begin({}, out);
  bool ended = false;
  std::vector<turn_event> events;
  const auto most = 1 + source.below(16);
  while (!tokens.empty() && !ended) {
    const auto count = std::min<std::size_t>(1 + source.below(most), tokens.size());
    events.clear();
    ended = digester.push(tokens.first(count), events).ended;
    answer.add(0, {.events = events}, out);
    tokens = tokens.subspan(count);
  }
  events.clear();
  const auto reason = digester.finish(ended ? finish_reason::stop : how, events);
  answer.add(0, {.events = events}, out);
  answer.finish(0, {.reason = reason}, out);
  answer.end(out);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(turn_property_test)

BOOST_AUTO_TEST_CASE(the_fold_of_a_random_turns_stream_is_its_unary_answer_and_its_batch_parse) {
  turn_source source{seed};
  int calls = 0, thoughts = 0;
  for (int round = 0; round < 10'000; ++round) {
    const auto turn = pieces_of(round % 4 == 0 ? source.soup(20) : source.turn());
    auto options = options_of_turn(source);
    const auto context = make_digest_context(release_like(), options, call_ids);
    const auto how = source.below(3) == 0 ? finish_reason::length : finish_reason::stop;
    const auto tokens = tokens_of(source, turn);
    const auto unary = fold_of_body(answer_of(context, options, tokens, how, source));
    options.stream = true;
    const auto streamed = fold_of_stream(answer_of(context, options, tokens, how, source));
    const auto batch = batch_parse(*context, turn, how);
    BOOST_TEST_CONTEXT("seed " << seed << ", turn " << round) {
      BOOST_REQUIRE_EQUAL(streamed, batch);
      BOOST_REQUIRE_EQUAL(unary, batch);
    }
    calls += static_cast<int>(batch.calls.size());
    thoughts += batch.reasoning.empty() ? 0 : 1;
  }
  BOOST_TEST(calls > 1000);  // the dice reach what they are to test
  BOOST_TEST(thoughts > 1000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer::test
