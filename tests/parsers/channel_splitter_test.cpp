#include "parsers/channel_splitter.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/parsers/pages.hpp"

namespace glimmer::test {

namespace {

/// A turn token by token; every piece of text is one token.
class fed_splitter {
 public:
  explicit fed_splitter(turn_start start = turn_start::header)
      : splitter{tools_of(R"([{"name": "dice"}])"), start} {}

  fed_splitter& token(std::string_view text) {
    splitter.count_token();
    splitter.text(text, events);
    return *this;
  }
  fed_splitter& mark(special_kind kind) {
    splitter.special(kind, events);
    return *this;
  }

  channel_splitter splitter;
  std::vector<channel_event> events;
};

constexpr auto start = special_kind::start;
constexpr auto message = special_kind::message;
constexpr auto eom = special_kind::eom;

}  // namespace

BOOST_AUTO_TEST_SUITE(channel_splitter_test)

BOOST_AUTO_TEST_CASE(reasoning_tokens_are_those_inside_bodies) {
  fed_splitter turn;
  turn.token(" to").token("=self").mark(message);
  turn.token("a").token(" b").token("").token("c").mark(eom);
  turn.mark(start).token("assistant").token(" to").token("=user").mark(message).token("d");
  BOOST_TEST(turn.splitter.reasoning_tokens() == 4u);
}

BOOST_AUTO_TEST_CASE(tokens_of_a_bare_header_are_not_reasoning) {
  fed_splitter turn{turn_start::reasoning};
  turn.token("a ").token("to").token("=dice").mark(message).token("<atem").token(":");
  BOOST_TEST(turn.splitter.reasoning_tokens() == 1u);
}

BOOST_AUTO_TEST_CASE(tokens_of_a_quoted_header_are_reasoning) {
  fed_splitter turn{turn_start::reasoning};
  turn.token("a ").token("to").token("=dice").mark(message).token(" b").mark(eom);
  BOOST_TEST(turn.splitter.reasoning_tokens() == 5u);
}

BOOST_AUTO_TEST_CASE(text_is_handed_on_at_once) {
  fed_splitter turn{turn_start::content};
  turn.token("Hello").token(" there to");
  BOOST_TEST(turn.events.size() == 2u);
  BOOST_TEST(turn.events.back().text == " there ");
  BOOST_TEST(turn.splitter.held_bytes() == 2u);
}

BOOST_AUTO_TEST_CASE(a_tool_message_comes_whole_and_knows_its_real_markers) {
  fed_splitter turn;
  turn.token(" to=dice").mark(message).token("a").mark(message).token("<|message|>").mark(eom);
  BOOST_REQUIRE(turn.events.size() == 1u);
  const channel_event& event = turn.events.front();
  BOOST_TEST((event.what == channel_event::kind::tool_message));
  BOOST_TEST(event.recipient == "dice");
  BOOST_TEST(event.body.text == "a<|message|><|message|>");
  BOOST_TEST(event.body.markers.size() == 1u);
  BOOST_TEST(event.body.plain_text() == "a<|message|>");
}

BOOST_AUTO_TEST_CASE(only_a_foreign_header_is_a_reason_to_stop) {
  fed_splitter turn{turn_start::content};
  turn.mark(start).token("user").mark(message);
  BOOST_TEST(turn.splitter.ended());
  BOOST_TEST(turn.splitter.foreign());
  fed_splitter other{turn_start::content};
  other.mark(special_kind::eot);
  BOOST_TEST(other.splitter.ended());
  BOOST_TEST(!other.splitter.foreign());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer::test
