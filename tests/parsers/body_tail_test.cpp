#include "parsers/body_tail.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

namespace {

/// What is shown and what is held, with a bar between.
std::string split(std::string_view text,
                  body_tail::watch what = {.headers = true, .openers = true}) {
  body_tail tail{what};
  std::string shown;
  tail.take(text, shown);
  return shown + "|" + std::string{tail.held()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(body_tail_test)

BOOST_AUTO_TEST_CASE(a_bare_header_is_held_at_the_start_or_behind_a_blank) {
  BOOST_TEST(split("t") == "|t");
  BOOST_TEST(split("a to") == "a |to");
  BOOST_TEST(split("a\nto= \tx ") == "a\n|to= \tx ");
  BOOST_TEST(split("goto") == "goto|");
  BOOST_TEST(split("to=x\n") == "to=x\n|");
  BOOST_TEST(split("to=x to=y") == "to=x |to=y");
  BOOST_TEST(split("to=<") == "to=|<");
}

BOOST_AUTO_TEST_CASE(the_beginning_of_call_markup_is_held) {
  BOOST_TEST(split("a <atem:f") == "a |<atem:f");
  BOOST_TEST(split("<<atem:in") == "<|<atem:in");
  BOOST_TEST(split("<atem:x") == "<atem:x|");
  BOOST_TEST(split("<atem:f", {.headers = true, .openers = false}) == "<atem:f|");
}

BOOST_AUTO_TEST_CASE(it_stops_behind_complete_markup) {
  body_tail tail{{.headers = true, .openers = true}};
  std::string shown;
  BOOST_TEST(tail.take("a<atem:invoke name", shown) == 13u);
  BOOST_TEST(tail.opener());
  BOOST_TEST(tail.release() == "<atem:invoke");
}

BOOST_AUTO_TEST_CASE(the_recipient_is_known_when_the_header_may_end) {
  const auto recipient = [](std::string_view text) {
    body_tail tail{{.headers = true}};
    std::string shown;
    tail.take(text, shown);
    return std::string{tail.recipient().value_or("none")};
  };
  BOOST_TEST(recipient("to=") == "none");
  BOOST_TEST(recipient("to= ab") == "ab");
  BOOST_TEST(recipient("x to=ab \t") == "ab");
}

BOOST_AUTO_TEST_CASE(no_more_than_a_header_is_held) {
  BOOST_TEST(split("to=" + std::string(253, 'x')) == "|to=" + std::string(253, 'x'));
  BOOST_TEST(split("to=" + std::string(254, 'x')) == "to=" + std::string(254, 'x') + "|");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
