#include "parsers/partial_json.hpp"

#include <boost/test/unit_test.hpp>
#include <random>
#include <string>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(partial_json_test)

BOOST_AUTO_TEST_CASE(strict_json_passes) {
  BOOST_TEST(repair_json(R"( {"a": [1, 2.50, null]} )").value() == R"({"a":[1,2.50,null]})");
}

BOOST_AUTO_TEST_CASE(the_usual_damage_is_mended) {
  BOOST_TEST(repair_json("['it\\'s', \"a\nb\", True, False, None, 1,]").value() ==
             R"(["it's","a\nb",true,false,null,1])");
  BOOST_TEST(repair_json("{'k': {\"q\": '\"'},}").value() == R"({"k":{"q":"\""}})");
  BOOST_TEST(repair_json("['\\ud83e\\udd14\\u00e9']").value() == "[\"\U0001F914\u00e9\"]");
}

BOOST_AUTO_TEST_CASE(other_damage_is_refused) {
  for (const char* text :
       {"", "5", "\"a\"", "[1", "{k: 1}", "{k}", "[,]", "[1,,]", "[1 2]", "{'a' 1}", "['a]",
        "['\\x']", "['\\ud83e']", "[NaN]", "[1e999]", "[01]", "[1]]", "[+1]", "{1: 2}"}) {
    BOOST_TEST(!repair_json(text), text);
  }
}

BOOST_AUTO_TEST_CASE(depth_is_limited) {
  BOOST_TEST(repair_json("[" + std::string(100, '[') + "'x'" + std::string(101, ']')).has_value());
  BOOST_TEST(!repair_json(std::string(100000, '[')));
  BOOST_TEST(!repair_json(std::string(1000, '[') + "'x'" + std::string(1000, ']')));
}

BOOST_AUTO_TEST_CASE(whatever_is_returned_is_strict_json) {
  constexpr unsigned seed = 5;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  constexpr std::string_view alphabet = "[]{}'\",:\\ n1e-.TrueNone\n";
  for (int round = 0; round < 20000; ++round) {
    std::string text{random() % 2 == 0 ? "[" : "{'a':"};
    for (std::size_t i = random() % 12; i > 0; --i) text += alphabet[random() % alphabet.size()];
    text += text[0] == '[' ? ']' : '}';
    const auto repaired = repair_json(text);
    if (repaired) BOOST_REQUIRE_MESSAGE(json::parse(*repaired), text << " -> " << *repaired);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
