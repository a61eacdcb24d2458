#include "scheduler/head_rows.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(head_rows_test)

namespace {

const group_blocks table{.blocks = {5, 9, 2}, .first_block = 1};  // positions 4 to 15

head_rows book() {
  return head_rows{{.block_size = 4, .blocks = 10}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_was_never_written_is_no_context) {
  const auto rows = book();
  BOOST_TEST(rows.first_of_run(table, 16) == 16u);
  BOOST_TEST(rows.first_of_run(table, 4) == 4u);
  BOOST_TEST(rows.first_of_run({}, 0) == 0u);
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_over_blocks_and_ends_at_the_table) {
  auto rows = book();
  rows.note(table, {4, 13});
  BOOST_TEST(rows.first_of_run(table, 13) == 4u);
  BOOST_TEST(rows.first_of_run(table, 10) == 4u);
  BOOST_TEST(rows.first_of_run(table, 14) == 14u);  // its last row is missing
  BOOST_TEST(rows.count(9) == 4u);
  BOOST_TEST(rows.count(2) == 1u);
}

BOOST_AUTO_TEST_CASE(a_gap_hides_everything_before_it) {
  auto rows = book();
  rows.note(table, {4, 6});
  rows.note(table, {7, 11});
  BOOST_TEST(rows.first_of_run(table, 11) == 7u);
  rows.note(table, {11, 12});
  BOOST_TEST(rows.first_of_run(table, 12) == 7u);
}

BOOST_AUTO_TEST_CASE(a_block_that_is_given_up_keeps_nothing_and_a_copy_keeps_all) {
  auto rows = book();
  rows.note(table, {4, 12});
  rows.copy({.from = 9, .to = 3});
  rows.clear(9);
  BOOST_TEST(rows.first_of_run(table, 12) == 12u);
  BOOST_TEST(rows.first_of_run({.blocks = {5, 3}, .first_block = 1}, 12) == 4u);
}

BOOST_AUTO_TEST_CASE(rows_that_are_written_again_stay) {
  auto rows = book();
  rows.note(table, {4, 12});
  rows.note(table, {7, 8});
  BOOST_TEST(rows.first_of_run(table, 12) == 4u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
