#include "bench/program/command_line.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {
namespace {

constexpr known_flag flags[] = {
    {"json", "", "!as JSON"}, {"rows", "1,8", "numbers"}, {"rate", "0", "a number"}};

result<command_line> parse(std::vector<std::string> words) {
  return command_line::parse(words, flags);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(command_line_test)

BOOST_AUTO_TEST_CASE(flags_have_initial_values_and_take_theirs_in_two_spellings) {
  const auto plain = parse({"folder"});
  BOOST_REQUIRE(plain);
  BOOST_TEST(plain->plain() == std::vector<std::string>{"folder"},
             boost::test_tools::per_element());
  BOOST_TEST(!plain->is_set("json"));
  BOOST_TEST(plain->numbers("rows")->size() == 2u);
  const auto given = parse({"--json", "--rows=3", "--rate", "1.5"});
  BOOST_REQUIRE(given);
  BOOST_TEST(given->is_set("json"));
  BOOST_TEST(given->number("rows").value() == 3u);
  BOOST_TEST(given->real("rate").value() == 1.5);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_refused_by_name) {
  BOOST_TEST(parse({"--row", "1"}).error().text == "--row is not known; see --help");
  BOOST_TEST(parse({"--rows"}).error().text == "--rows needs a value: numbers");
  BOOST_TEST(parse({"--json=1"}).error().text == "--json takes no value");
  for (const auto* wrong : {"", "1,", "a", "1,,2", "-1", "1 "}) {
    const auto line = parse({std::string{"--rows="} + wrong});
    BOOST_REQUIRE(line);
    BOOST_TEST(!line->numbers("rows").has_value(), wrong);
  }
  BOOST_TEST(!parse({"--rate=-1"})->real("rate").has_value());
  BOOST_TEST(!parse({"--rate=fast"})->real("rate").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
