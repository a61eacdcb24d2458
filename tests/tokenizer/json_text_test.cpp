#include "tokenizer/json_text.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/tokenizer/fixture.hpp"

namespace glimmer {

namespace {

std::string rendered(std::string_view text) {
  std::string out;
  append_template_json(out, test::parse_json(text));
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(template_json)

BOOST_AUTO_TEST_CASE(integers_stay_exact_at_any_length) {
  for (const std::string text : {"0", "-1", "12345678901234567890123456789012345678901234567890"}) {
    BOOST_TEST(rendered(text) == text);
  }
  BOOST_TEST(rendered("-0") == "0");
}

BOOST_AUTO_TEST_CASE(decimals_are_spelled_as_python_spells_them) {
  const auto is = [](std::string_view text, std::string_view expected) {
    BOOST_TEST(rendered(text) == expected);
    BOOST_TEST(rendered("-" + std::string{text}) == "-" + std::string{expected});
  };
  is("1.0", "1.0");
  is("1.50", "1.5");
  is("1E3", "1000.0");
  is("0.1", "0.1");
  is("0.0001", "0.0001");
  is("0.00012345", "0.00012345");
  is("0.00001", "1e-05");
  is("0.000012", "1.2e-05");
  is("123456789012345.6", "123456789012345.6");
  is("1e15", "1000000000000000.0");
  is("9007199254740993.0", "9007199254740992.0");
  is("1e16", "1e+16");
  is("12345678901234567890.0", "1.2345678901234567e+19");
  is("1.5e300", "1.5e+300");
  is("5e-324", "5e-324");
  is("0.30000000000000004", "0.30000000000000004");
  is("0.0", "0.0");
  is("1e-400", "0.0");
  is("1e400", "Infinity");
}

BOOST_AUTO_TEST_CASE(doubles_read_back_as_themselves) {
  std::mt19937_64 random{41};
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    static_assert(sizeof value == sizeof bits);
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    char text[40];
    std::snprintf(text, sizeof text, "%.17e", value);
    const std::string shortest = rendered(text);
    BOOST_REQUIRE_EQUAL(std::strtod(shortest.c_str(), nullptr), value);
    BOOST_REQUIRE(shortest.find_first_of(".e") != std::string::npos);
    BOOST_REQUIRE_EQUAL(rendered(shortest), shortest);
  }
}

BOOST_AUTO_TEST_CASE(containers_have_one_line_and_blanks_behind_commas_and_colons) {
  BOOST_TEST(rendered(R"({"b":[1,true,null,{"z":"<&'>"}],"a":{},"c":[]})") ==
             R"({"b": [1, true, null, {"z": "<&'>"}], "a": {}, "c": []})");
  BOOST_TEST(rendered(R"({"k":1,"l":2,"k":3})") == R"({"k": 3, "l": 2})");
}

BOOST_AUTO_TEST_CASE(only_what_must_be_escaped_is) {
  BOOST_TEST(rendered(R"("\u00e9\u4e2d\/\"\\\b\f\n\r\t\u0001\u001F\u007f\ud83d\ude00")") ==
             "\"\u00e9\u4e2d/\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\U0001f600\"");
}

BOOST_AUTO_TEST_CASE(the_deepest_text_that_parses_can_be_written) {
  const std::string deep = std::string(255, '[') + std::string(255, ']');
  BOOST_TEST(rendered(deep) == deep);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
