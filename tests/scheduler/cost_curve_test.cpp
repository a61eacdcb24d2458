#include "scheduler/cost_curve.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(cost_curve_test)

namespace {

const auto within = boost::test_tools::tolerance(1e-6);

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_known_before_anything_was_seen) {
  const cost_curve curve;
  BOOST_TEST(curve.expect(5) == 0.0);
  BOOST_TEST(curve.at_worst(5) == 0.0);
  BOOST_TEST(!curve.knows(5));
}

BOOST_AUTO_TEST_CASE(between_what_was_seen_lies_a_line) {
  cost_curve curve;
  curve.observe({.rows = 2, .time = duration{200}});
  curve.observe({.rows = 16, .time = duration{900}});
  BOOST_TEST(curve.expect(1) == 200.0, within);
  BOOST_TEST(curve.expect(2) == 200.0, within);
  BOOST_TEST(curve.expect(9) == 550.0, within);
  BOOST_TEST(curve.expect(30) == 1600.0, within);  // the line goes on
  BOOST_TEST(curve.at_worst(32) == 1800.0, within);
}

BOOST_AUTO_TEST_CASE(one_point_says_nothing_of_more_rows_and_the_worst_is_as_many_times_as_much) {
  cost_curve curve;
  curve.observe({.rows = 4, .time = duration{100}});
  BOOST_TEST(curve.expect(64) == 100.0, within);
  BOOST_TEST(curve.at_worst(64) == 1600.0, within);
}

BOOST_AUTO_TEST_CASE(the_curve_never_falls) {
  cost_curve curve;
  curve.observe({.rows = 1, .time = duration{500}});
  curve.observe({.rows = 8, .time = duration{300}});
  BOOST_TEST(curve.expect(8) == 500.0, within);
  BOOST_TEST(curve.expect(100) == 500.0, within);
}

BOOST_AUTO_TEST_CASE(three_steps_are_believed_and_grow_old) {
  cost_curve curve;
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(!curve.knows(7));
    curve.observe({.rows = 7, .time = duration{100}});
  }
  BOOST_TEST(curve.knows(6));
  BOOST_TEST(curve.knows(7));
  BOOST_TEST(!curve.knows(8));
  for (int i = 0; i < 5; ++i) curve.observe({.rows = 30, .time = duration{100}});
  BOOST_TEST(curve.age(7) == 5u);
  BOOST_TEST(curve.age(30) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
