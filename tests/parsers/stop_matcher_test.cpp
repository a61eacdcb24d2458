#include "parsers/stop_matcher.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

namespace glimmer {

namespace {

std::shared_ptr<const stop_strings> stops(std::vector<std::string> texts) {
  return std::make_shared<stop_strings>(texts);
}

/// Where the first match ends and how long it is, the slow way.
struct match {
  std::size_t end = std::string::npos;
  std::size_t size = 0;
};
match first_match(const std::string& text, const std::vector<std::string>& patterns) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    match best;
    for (const std::string& p : patterns) {
      const bool here = p.size() <= end && text.compare(end - p.size(), p.size(), p) == 0;
      if (here && p.size() > best.size) best = {end, p.size()};
    }
    if (best.size > 0) return best;
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stop_matcher_test)

BOOST_AUTO_TEST_CASE(only_the_beginning_of_a_stop_string_is_held) {
  stop_matcher m{stops({"abc", "bd"}), stop_matcher::keep_match::no};
  std::string shown;
  BOOST_TEST(!m.push("xxab", shown));
  BOOST_TEST(shown == "xx");
  BOOST_TEST(!m.push("a", shown));
  BOOST_TEST(shown == "xxab");
  BOOST_TEST(m.held() == 1u);
  m.flush(shown);
  BOOST_TEST(shown == "xxaba");
}

BOOST_AUTO_TEST_CASE(the_match_that_is_complete_first_wins) {
  stop_matcher m{stops({"abcd", "bc"}), stop_matcher::keep_match::no};
  std::string shown;
  BOOST_TEST(m.push("xabcd", shown));
  BOOST_TEST(shown == "xa");
  BOOST_TEST(m.found() == "bc");
}

BOOST_AUTO_TEST_CASE(the_longest_of_those_that_end_together_wins) {
  stop_matcher m{stops({"c", "abc", "bc"}), stop_matcher::keep_match::yes};
  std::string shown;
  BOOST_TEST(m.push("xabcd", shown));
  BOOST_TEST(shown == "xabc");
  BOOST_TEST(m.found() == "abc");
  BOOST_TEST(m.push("more", shown));
  BOOST_TEST(shown == "xabc");
}

BOOST_AUTO_TEST_CASE(empty_stop_strings_match_nothing) {
  stop_matcher m{stops({""}), stop_matcher::keep_match::no};
  std::string shown;
  BOOST_TEST(!m.push("text", shown));
  BOOST_TEST(shown == "text");
}

BOOST_AUTO_TEST_CASE(every_match_is_the_one_a_slow_search_finds) {
  constexpr unsigned seed = 77;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  const auto word = [&random](std::size_t size_max) {
    std::string out(1 + random() % size_max, 'a');
    for (char& c : out) c = static_cast<char>('a' + random() % 2);
    return out;
  };
  for (int round = 0; round < 3000; ++round) {
    const std::vector<std::string> patterns = {word(6), word(6), word(6)};
    const std::string text = word(24);
    const match expected = first_match(text, patterns);
    stop_matcher m{stops(patterns), stop_matcher::keep_match::no};
    std::string shown;
    bool found = false;
    for (std::size_t at = 0; at < text.size() && !found;) {
      const std::size_t size = 1 + random() % 3;
      found = m.push(std::string_view{text}.substr(at, size), shown);
      at += size;
    }
    if (!found) m.flush(shown);
    const bool match_expected = expected.size > 0;
    BOOST_REQUIRE(found == match_expected);
    BOOST_REQUIRE(shown == (found ? text.substr(0, expected.end - expected.size) : text));
  }
}

BOOST_AUTO_TEST_CASE(a_match_passes_while_nobody_watches_and_one_that_began_then_may_end_later) {
  const auto stops = std::make_shared<const stop_strings>(std::vector<std::string>{"abc"});
  stop_matcher matcher{stops, stop_matcher::keep_match::no};
  matcher.watch(false);
  std::string shown;
  BOOST_TEST(!matcher.push("xabcyab", shown));
  matcher.watch(true);
  BOOST_TEST(matcher.push("cz", shown));
  BOOST_TEST(shown == "xabcy");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
