#include "engine/token_digester.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/tokenizer/fixture.hpp"

namespace glimmer::test {

namespace {

response_options with_stop(std::string stop) {
  response_options out;
  out.stop = {std::move(stop)};
  return out;
}

/// One sequence and everything it said.
struct sequence {
  explicit sequence(const response_options& response, prompt_end end = prompt_end::header)
      : digester{make_digest_context(release_like(), response, {1, 2, 0}),
                 {.end = end, .choice = 0}} {}

  token_digester::digested push(std::span<const token_id> tokens) {
    return digester.push(tokens, events);
  }
  std::string text(turn_event::kind kind) const {
    std::string out;
    for (const turn_event& event : events) {
      if (event.what == kind) out += event.text;
    }
    return out;
  }
  std::string content() const { return text(turn_event::kind::content); }

  std::vector<turn_event> events;
  token_digester digester;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(token_digester_test)

BOOST_AUTO_TEST_CASE(tokens_become_the_events_of_a_turn) {
  response_options response;
  response.tools = {{.name = "dice", .description = {}, .parameters = {}}};
  const auto tokens = turn_tokens(
      " to=self<|message|>Gr\u00f6\u00dfe \U0001F914<|eom|><|start|>assistant to=dice<|message|>"
      "<atem:invoke name=\"dice\"><atem:parameter "
      "name=\"n\">2</atem:parameter></atem:invoke><|eot|>");
  for (std::size_t step = 1; step <= tokens.size(); ++step) {
    sequence s{response};
    for (std::size_t at = 0; at < tokens.size(); at += step) {
      const auto some = std::span{tokens}.subspan(at, std::min(step, tokens.size() - at));
      BOOST_TEST(!s.push(some).ended);
    }
    BOOST_TEST((s.digester.finish(finish_reason::stop, s.events) == finish_reason::tool_calls));
    BOOST_TEST(s.text(turn_event::kind::reasoning) == "Gr\u00f6\u00dfe \U0001F914");
    BOOST_TEST(s.text(turn_event::kind::tool_arguments) == "{\"n\":2}");
    BOOST_TEST(s.content() == "");
    BOOST_TEST(s.digester.tokens() == tokens.size());
  }
}

BOOST_AUTO_TEST_CASE(a_stop_string_ends_the_sequence_at_the_token_that_completes_it) {
  const auto tokens = turn_tokens(" to=user<|message|>one two three four<|eot|>");
  const auto before = turn_tokens(" to=user<|message|>one two");
  sequence s{with_stop("two th")};
  const auto digested = s.push(tokens);
  BOOST_TEST(digested.ended);
  BOOST_TEST(digested.stop_string.value() == "two th");
  BOOST_TEST(digested.end_index >= before.size());
  BOOST_TEST(digested.end_index < tokens.size() - 1);
  BOOST_TEST(s.digester.tokens() == digested.end_index + 1);
  BOOST_TEST((s.digester.finish(finish_reason::stop, s.events) == finish_reason::stop));
  BOOST_TEST(s.content() == "one ");
}

BOOST_AUTO_TEST_CASE(the_end_is_the_same_token_for_every_batch) {
  const auto tokens = turn_tokens(" to=user<|message|>one two three four<|eot|>");
  sequence whole{with_stop("two th")};
  const std::uint32_t end = whole.push(tokens).end_index;
  sequence single{with_stop("two th")};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto digested = single.push(std::span{tokens}.subspan(i, 1));
    BOOST_TEST(digested.ended == (i >= end));
    if (digested.ended) BOOST_TEST(digested.end_index == end);
  }
  BOOST_TEST(single.content() == whole.content());
}

BOOST_AUTO_TEST_CASE(stop_strings_within_the_least_number_of_tokens_do_not_count) {
  const auto tokens = turn_tokens(" to=user<|message|>one two one two three<|eot|>");
  const auto first = turn_tokens(" to=user<|message|>one two").size();
  for (std::size_t step = 1; step <= tokens.size(); ++step) {
    const auto context = make_digest_context(release_like(), with_stop("two"), {1, 2, 0});
    token_digester digester{context, {.min_tokens = static_cast<std::uint32_t>(first)}};
    std::vector<turn_event> events;
    std::optional<std::uint32_t> end;
    for (std::size_t at = 0; at < tokens.size() && !end; at += step) {
      const auto some = std::span{tokens}.subspan(at, std::min(step, tokens.size() - at));
      const auto digested = digester.push(some, events);
      if (digested.ended) end = digested.end_index;
    }
    digester.finish(finish_reason::stop, events);
    std::string content;
    for (const auto& event : events) content += event.text;
    BOOST_TEST(content == "one two one ");
    BOOST_TEST(end.value_or(0) >= first);
  }
}

BOOST_AUTO_TEST_CASE(someone_elses_message_ends_the_sequence) {
  const auto tokens = turn_tokens(" to=user<|message|>a<|start|>user<|message|>b<|eot|>");
  sequence s{{}};
  const auto digested = s.push(tokens);
  BOOST_TEST(digested.ended);
  BOOST_TEST(!digested.stop_string);
  BOOST_TEST(digested.end_index == tokens.size() - 1 - turn_tokens("b<|eot|>").size());
  BOOST_TEST(s.content() == "a");
}

BOOST_AUTO_TEST_CASE(without_chat_all_text_is_content_and_special_tokens_are_nothing) {
  response_options response = with_stop("stop");
  response.chat = false;
  response.include_stop_string = true;
  sequence s{response, prompt_end::text};
  const auto digested = s.push(turn_tokens(" to=self<|message|> to=x<|eom|>a<|start|>user stop b"));
  BOOST_TEST(digested.ended);
  BOOST_TEST(s.content() == " to=self to=xauser stop");
}

BOOST_AUTO_TEST_CASE(the_prompt_may_end_inside_the_reasoning) {
  sequence s{{}, prompt_end::reasoning};
  const auto tokens = turn_tokens("and on<|eom|><|start|>assistant to=user<|message|>x<|eot|>");
  s.push(tokens);
  BOOST_TEST(s.text(turn_event::kind::reasoning) == "and on");
  BOOST_TEST(s.content() == "x");
  BOOST_TEST(s.digester.reasoning_tokens() == turn_tokens("and on").size());
}

BOOST_AUTO_TEST_CASE(an_unfinished_character_becomes_one_replacement) {
  const token_id half = release_like()->words().find("\xF0").value();
  sequence s{{}, prompt_end::reasoning};
  s.push(std::vector<token_id>{half});
  BOOST_TEST(s.text(turn_event::kind::reasoning) == "");
  s.push(turn_tokens("<|eom|><|start|>assistant to=user<|message|>"));
  BOOST_TEST(s.text(turn_event::kind::reasoning) == "\uFFFD");
  s.push(std::vector<token_id>{half});
  s.digester.finish(finish_reason::length, s.events);
  BOOST_TEST(s.content() == "\uFFFD");
  BOOST_TEST(s.digester.reasoning_tokens() == 1u);
}

BOOST_AUTO_TEST_CASE(random_tokens_give_valid_text_and_the_same_for_every_batch) {
  constexpr unsigned seed = 11;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  const vocabulary& words = release_like()->words();
  for (int round = 0; round < 300; ++round) {
    std::vector<token_id> tokens(1 + random() % 60);
    for (token_id& t : tokens) t = static_cast<token_id>(random() % words.size());
    sequence whole{with_stop("e")};
    whole.push(tokens);
    const auto end = whole.digester.finish(finish_reason::length, whole.events);
    sequence single{with_stop("e")};
    for (token_id t : tokens) single.push(std::vector<token_id>{t});
    BOOST_REQUIRE((single.digester.finish(finish_reason::length, single.events) == end));
    BOOST_REQUIRE(single.content() == whole.content());
    std::string quoted;
    append_json_string(quoted, whole.content());
    BOOST_REQUIRE(json::parse(quoted).has_value());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer::test
