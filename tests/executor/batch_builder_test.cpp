#include "executor/batch_builder.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/executor/plans.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(batch_builder_test)

using ints = std::vector<std::int32_t>;

const batch_shape shape{.block_size = 4, .window = 5, .vocab_size = 100, .blocks = {50, 20}};

void check(const host_batch& batch, array_place place, const ints& expected) {
  const auto values = batch.values(place);
  BOOST_TEST(ints(values.begin(), values.end()) == expected, boost::test_tools::per_element());
  BOOST_TEST(place.begin % 16 == 0u);
}

/// A prefill chunk of sequence 1 beside a decode row of sequence 2, far behind its window's start.
step_plan mixed_plan() {
  return plan_writer{}
      .add({.id = 1, .position = 2, .tokens = {11, 12, 13}, .full = {9, 3}, .sliding = {7, 8}})
      .add({.id = 2,
            .position = 17,
            .tokens = {21},
            .sample = true,
            .full = {40, 41, 42, 43, 44},
            .sliding = {1, 19},
            .sliding_first_block = 3})
      .plan();
}

BOOST_AUTO_TEST_CASE(rows_of_a_chunk_and_of_a_decode_lie_side_by_side) {
  batch_builder builder{shape};
  const auto& batch = builder.build(mixed_plan(), ints{3});
  check(batch, batch.tokens, {11, 12, 13, 21});
  check(batch, batch.positions, {2, 3, 4, 17});
  check(batch, batch.row_begin, {0, 3, 4});
  check(batch, batch.first_position, {2, 17});
  check(batch, batch.wanted, {3});
  BOOST_TEST(batch.rows_max == 3);
  BOOST_TEST(batch.position_max == 17);
}

BOOST_AUTO_TEST_CASE(slots_follow_each_groups_own_table_and_its_first_block) {
  batch_builder builder{shape};
  const auto& batch = builder.build(mixed_plan(), {});
  const auto& full = batch.groups[0];
  check(batch, full.slots, {9 * 4 + 2, 9 * 4 + 3, 3 * 4 + 0, 44 * 4 + 1});
  check(batch, full.block_table, {9, 3, 0, 0, 0, 40, 41, 42, 43, 44});
  check(batch, full.first_block, {0, 0});
  const auto& sliding = batch.groups[1];
  check(batch, sliding.slots, {7 * 4 + 2, 7 * 4 + 3, 8 * 4 + 0, 19 * 4 + 1});
  check(batch, sliding.block_table, {7, 8, 1, 19});
  check(batch, sliding.first_block, {0, 3});
}

BOOST_AUTO_TEST_CASE(a_small_step_behind_a_large_one_keeps_nothing_of_it) {
  batch_builder used{shape}, fresh{shape};
  used.build(mixed_plan(), ints{3});
  plan_writer small;
  small.add({.id = 1, .position = 5, .tokens = {14}, .full = {9, 3}, .sliding = {7, 8}});
  BOOST_TEST(used.build(small.plan(), {}).ints == fresh.build(small.plan(), {}).ints,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
