#include <boost/test/unit_test.hpp>

#include "base/json.hpp"
#include "parsers/channel_splitter.hpp"
#include "parsers/turn_parser.hpp"
#include "tests/parsers/random_turn.hpp"

namespace glimmer::test {

namespace {

constexpr std::uint64_t seed = 20260811;

finish_reason any_end(turn_source& source) {
  constexpr finish_reason ends[] = {finish_reason::stop, finish_reason::length,
                                    finish_reason::cancelled};
  return ends[source.below(3)];
}

std::vector<turn_event> run(const turn_parser::options& options, const pieces& input,
                            finish_reason finish) {
  turn_parser parser{options};
  std::vector<turn_event> events;
  for (const auto& piece : input) {
    if (piece.special) {
      parser.special(*piece.special, events);
    } else {
      parser.text(piece.text, events);
    }
  }
  parser.finish(finish, events);
  return events;
}

bool is_json_text(const std::string& text) {
  std::string quoted;
  append_json_string(quoted, text);
  return json::parse(quoted).has_value();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(turn_property_test)

BOOST_AUTO_TEST_CASE(the_stream_of_a_random_turn_does_not_depend_on_its_cuts) {
  turn_source source{seed};
  turn_parser::options options = dice_and_note();
  options.stops = std::make_shared<stop_strings>(std::vector<std::string>{"END", "\nEN", "x x"});
  for (int round = 0; round < 10'000; ++round) {
    const std::string turn = round % 3 == 0 ? source.soup(30) : source.turn();
    const finish_reason finish = any_end(source);
    const pieces input = pieces_of(turn);
    const std::string whole = events_of(options, input, finish);
    const std::string shredded = events_of(options, source.shred(input), finish);
    BOOST_REQUIRE_MESSAGE(whole == shredded, "turn " << turn << "\nwhole:\n"
                                                     << whole << "\nshredded:\n"
                                                     << shredded);
  }
}

BOOST_AUTO_TEST_CASE(whatever_the_model_writes_the_events_are_valid) {
  turn_source source{seed + 1};
  const turn_parser::options options = dice_and_note();
  for (int round = 0; round < 3000; ++round) {
    std::uint32_t calls = 0;
    const std::string turn = source.soup(60);
    for (const turn_event& event : run(options, pieces_of(turn), any_end(source))) {
      BOOST_REQUIRE_MESSAGE(is_json_text(event.text), "not UTF-8: " << turn);
      if (event.what == turn_event::kind::tool_call) {
        BOOST_REQUIRE(event.call_index == calls++);
        BOOST_REQUIRE(!event.name.empty());
      } else if (event.what == turn_event::kind::tool_arguments) {
        BOOST_REQUIRE(event.call_index + 1 == calls);
        const auto arguments = json::parse(event.text);
        BOOST_REQUIRE_MESSAGE(arguments && arguments->is_object(), "arguments of " << turn);
      } else {
        BOOST_REQUIRE(!event.text.empty());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_held_does_not_grow_with_the_turn) {
  turn_source source{seed + 2};
  constexpr std::size_t bound = 2 * 256 + 64;  // a header's text, and one that waits behind it
  std::size_t held_max = 0;
  channel_splitter splitter{dice_and_note().tools, turn_start::header};
  std::vector<channel_event> events;
  for (int round = 0; round < 3000; ++round) {
    for (const auto& piece : single_characters(pieces_of(source.soup(5)))) {
      if (piece.special) {
        splitter.special(*piece.special, events);
      } else {
        splitter.text(piece.text, events);
      }
      held_max = std::max(held_max, splitter.held_bytes());
      if (splitter.ended()) splitter = {dice_and_note().tools, turn_start::header};
    }
  }
  BOOST_TEST(held_max <= bound);
}

BOOST_AUTO_TEST_CASE(hostile_bodies_are_read_to_their_end) {
  const auto repeat = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  const std::string value = "<atem:invoke name=\"note\"><atem:parameter name=\"text\">";
  const std::string closers = "</atem:parameter></atem:invoke></atem:function_calls>x";
  const std::vector<std::string> bodies = {
      repeat("<atem:invoke name=\"", 5000),
      value + repeat(closers, 5000),
      value + repeat("</atem:parameter>" + std::string(100, ' '), 1000),
      value + repeat("</atem:function_calls>to=user<|message|>", 500),
      repeat("<atem:invoke name=\"a<|message|>", 3000),
      repeat("<atem:invoke name=\"dice\">", 5000),
      "<atem:invoke name=\"free\"><atem:parameter name=\"x\">" + repeat("[", 5000) +
          "</atem:parameter></atem:invoke>",
      "<atem:invoke name=\"dice\">" + std::string(20000, ' ') + repeat("<", 20000),
  };
  for (const std::string& body : bodies) {
    const auto events =
        run(dice_and_note(), pieces_of(" to=note<|message|>" + body), finish_reason::stop);
    BOOST_TEST(!events.empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer::test
