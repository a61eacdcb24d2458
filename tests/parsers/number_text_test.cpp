#include "parsers/number_text.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(number_text_test)

BOOST_AUTO_TEST_CASE(integers_are_read_loosely_and_spelled_strictly) {
  BOOST_TEST(read_integer("+007").value() == "7");
  BOOST_TEST(read_integer("-0").value() == "0");
  BOOST_TEST(read_integer("5.0").value() == "5");
  BOOST_TEST(read_integer("1e3").value() == "1000");
  BOOST_TEST(read_integer("-12.50E1").value() == "-125");
  BOOST_TEST(read_integer("100e-2").value() == "1");
  BOOST_TEST(read_integer("0e999999999999").value() == "0");
  BOOST_TEST(read_integer("123456789012345678901234567890").value() ==
             "123456789012345678901234567890");
}

BOOST_AUTO_TEST_CASE(what_is_no_integer_is_refused) {
  for (const char* text : {"", "-", "5.5", "1e999", "1e-1", "0x10", "1_0", " 1", "1 ", ".5", "5.",
                           "1e", "NaN", "--1"}) {
    BOOST_TEST(!read_integer(text), text);
  }
}

BOOST_AUTO_TEST_CASE(numbers_keep_their_digits) {
  BOOST_TEST(read_number("+001.50").value() == "1.50");
  BOOST_TEST(read_number("-0.5e-3").value() == "-0.5e-3");
  BOOST_TEST(read_number("1e-400").value() == "1e-400");
  BOOST_TEST(!read_number("1e400"));
  BOOST_TEST(!read_number("Infinity"));
}

BOOST_AUTO_TEST_CASE(the_prompt_shows_numbers_the_way_python_prints_them) {
  const auto shown = [](std::string_view number) {
    std::string out;
    append_prompt_number(out, number);
    return out;
  };
  BOOST_TEST(shown("12345678901234567890") == "12345678901234567890");
  BOOST_TEST(shown("-0") == "0");
  BOOST_TEST(shown("-0.0") == "-0.0");
  BOOST_TEST(shown("1.50") == "1.5");
  BOOST_TEST(shown("1E3") == "1000.0");
  BOOST_TEST(shown("0.0001") == "0.0001");
  BOOST_TEST(shown("0.00001") == "1e-05");
  BOOST_TEST(shown("1e15") == "1000000000000000.0");
  BOOST_TEST(shown("1e16") == "1e+16");
  BOOST_TEST(shown("1.5e300") == "1.5e+300");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
