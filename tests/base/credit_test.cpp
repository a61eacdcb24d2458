#include <boost/test/unit_test.hpp>

#include "base/credit.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(credit_test)

BOOST_AUTO_TEST_CASE(credit_is_taken_whole_or_not_at_all) {
  credit c{3};
  BOOST_TEST(c.take(2));
  BOOST_TEST(!c.take(2));
  BOOST_TEST(c.left() == 1u);
  c.give_back(2);
  BOOST_TEST(c.left() == c.total());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
