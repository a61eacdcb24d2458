#include "parsers/header.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

namespace glimmer {

namespace {

using kind = header_match::kind;

bool is(std::string_view text, header_place place, kind what) {
  return match_header(text, place).what == what;
}
bool bare(std::string_view text, kind what) {
  return is(text, header_place::bare, what);
}
bool framed(std::string_view text, kind what) {
  return is(text, header_place::framed, what);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(header_test)

BOOST_AUTO_TEST_CASE(a_header_names_its_recipient) {
  const header_match match = match_header(" Assistant\tto= a.b-c \n", header_place::bare);
  BOOST_TEST((match.what == kind::complete));
  BOOST_TEST(match.recipient == "a.b-c");
}

BOOST_AUTO_TEST_CASE(every_beginning_of_a_header_may_become_one) {
  const std::string header = " assistant to= user ";
  for (std::size_t size = 0; size <= header.size(); ++size) {
    BOOST_TEST(!bare(header.substr(0, size), kind::none), "after " << size << " bytes");
  }
}

BOOST_AUTO_TEST_CASE(other_text_is_no_header) {
  for (const char* text : {"x", "to x", "to=a b", "to=a<", "assistant x", "TO=a", "to=<"}) {
    BOOST_TEST(bare(text, kind::none), text);
  }
}

BOOST_AUTO_TEST_CASE(other_roles_count_behind_a_start_marker_only) {
  for (const char* text : {"user", " SYSTEM ", "developer", "tool", "tool  x.y "}) {
    BOOST_TEST(framed(text, kind::foreign), text);
    BOOST_TEST(!bare(text, kind::foreign), text);
  }
  for (const char* text : {"us", "too", "dev"}) BOOST_TEST(framed(text, kind::prefix), text);
  for (const char* text : {"users", "toolx", "tool x y", "user x"}) {
    BOOST_TEST(framed(text, kind::none), text);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
