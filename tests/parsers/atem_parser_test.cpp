#include "parsers/atem_parser.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(atem_parser_test)

BOOST_AUTO_TEST_CASE(call_ids_are_all_different) {
  std::set<std::string> ids;
  for (std::uint64_t request = 0; request < 20; ++request) {
    for (std::uint32_t choice = 0; choice < 5; ++choice) {
      for (std::uint32_t index = 0; index < 10; ++index) {
        ids.insert(make_call_id({7, request, choice}, index));
        ids.insert(make_call_id({8, request, choice}, index));
      }
    }
  }
  BOOST_TEST(ids.size() == 2u * 20 * 5 * 10);
}

BOOST_AUTO_TEST_CASE(a_call_id_is_short_plain_and_repeatable) {
  const std::string id = make_call_id({1, 2, 3}, 4);
  BOOST_TEST(id == make_call_id({1, 2, 3}, 4));
  BOOST_TEST(id.size() == 29u);
  BOOST_TEST(id.starts_with("call_"));
  BOOST_TEST(id.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                                  5) == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
