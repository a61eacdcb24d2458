#include "tokenizer/utf8.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(utf8)

BOOST_AUTO_TEST_CASE(every_code_point_survives_writing_and_reading) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    append_utf8(text, c);
    const utf8_char seen = first_utf8_char(text);
    BOOST_REQUIRE(seen.what == utf8_char::state::whole);
    BOOST_REQUIRE(seen.value == c);
    BOOST_REQUIRE_EQUAL(seen.length, text.size());
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      const utf8_char part = first_utf8_char(std::string_view{text}.substr(0, cut));
      BOOST_REQUIRE(part.what == utf8_char::state::cut);
      BOOST_REQUIRE_EQUAL(part.length, cut);
    }
  }
}

BOOST_AUTO_TEST_CASE(overlong_forms_surrogates_and_values_beyond_unicode_are_broken) {
  const auto broken = [](std::string_view text) {
    const utf8_char seen = first_utf8_char(text);
    return seen.what == utf8_char::state::broken ? int{seen.length} : 0;
  };
  BOOST_TEST(broken("\x80") == 1);
  BOOST_TEST(broken("\xc0\xaf") == 1);
  BOOST_TEST(broken("\xc1\xbf") == 1);
  BOOST_TEST(broken("\xe0\x80\x80") == 1);
  BOOST_TEST(broken("\xed\xa0\x80") == 1);
  BOOST_TEST(broken("\xf0\x8f\xbf\xbf") == 1);
  BOOST_TEST(broken("\xf4\x90\x80\x80") == 1);
  BOOST_TEST(broken("\xf5\x80\x80\x80") == 1);
  BOOST_TEST(broken("\xff") == 1);
  BOOST_TEST(broken("\xe4\xb8"
                    "a") == 2);
  BOOST_TEST(broken("\xf0\x9f\x98 ") == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
