#include <boost/test/unit_test.hpp>
#include <vector>

#include "scheduler/block_manager.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(block_manager_test)

namespace {

constexpr auto full = index_of(kv_group::full);
constexpr auto sliding = index_of(kv_group::sliding);

block_manager small_manager(per_group<std::uint32_t> blocks = {8, 8}) {
  return block_manager{{.block_size = 4, .window = 8, .blocks = blocks}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_take_blocks_of_both_groups) {
  auto manager = small_manager();
  sequence_blocks held;
  std::vector<kv_block_copy> copies;
  manager.extend(held, 0, 5, copies);
  BOOST_TEST(held.groups[full].blocks.size() == 2u);
  BOOST_TEST(held.groups[sliding].blocks.size() == 2u);
  BOOST_TEST(copies.empty());
}

// Window 8, blocks of 4: the query at 11 sees 4..11, the one at 12 sees 5..12.
BOOST_AUTO_TEST_CASE(a_sliding_block_goes_when_its_last_position_leaves_the_window) {
  auto manager = small_manager();
  sequence_blocks held;
  std::vector<kv_block_copy> copies;
  manager.extend(held, 0, 12, copies);
  manager.release_passed(held, 10);
  BOOST_TEST(held.groups[sliding].first_block == 0u);
  manager.release_passed(held, 11);
  BOOST_TEST(held.groups[sliding].first_block == 1u);
  manager.release_passed(held, 14);
  BOOST_TEST(held.groups[sliding].first_block == 1u);
  manager.release_passed(held, 15);
  BOOST_TEST(held.groups[sliding].first_block == 2u);
  BOOST_TEST(held.groups[full].blocks.size() == 3u);
  BOOST_TEST(manager.counts()[sliding].used == 1u);
}

BOOST_AUTO_TEST_CASE(a_fork_copies_the_partial_block_before_it_writes) {
  auto manager = small_manager();
  sequence_blocks first;
  sequence_blocks second;
  std::vector<kv_block_copy> copies;
  manager.extend(first, 0, 6, copies);
  manager.fork(first, second, 5);
  BOOST_TEST(manager.counts()[full].used == 2u);
  manager.extend(second, 5, 1, copies);
  BOOST_REQUIRE(copies.size() == 2u);
  BOOST_TEST((copies[0].group == kv_group::full));
  BOOST_TEST(copies[0].from == first.groups[full].blocks[1]);
  BOOST_TEST(copies[0].to == second.groups[full].blocks[1]);
  BOOST_TEST(second.groups[full].blocks[0] == first.groups[full].blocks[0]);
  copies.clear();
  manager.extend(first, 6, 1, copies);
  BOOST_TEST(copies.empty());  // nobody else uses the block any more
}

BOOST_AUTO_TEST_CASE(a_fork_at_a_block_border_copies_nothing) {
  auto manager = small_manager();
  sequence_blocks first;
  sequence_blocks second;
  std::vector<kv_block_copy> copies;
  manager.extend(first, 0, 5, copies);
  manager.fork(first, second, 4);
  manager.extend(second, 4, 1, copies);
  BOOST_TEST(copies.empty());
  BOOST_TEST(second.groups[full].blocks[1] != first.groups[full].blocks[1]);
}

BOOST_AUTO_TEST_CASE(rows_are_backed_as_far_as_the_poorer_pool_reaches) {
  auto manager = small_manager({8, 2});
  const sequence_blocks held;
  BOOST_TEST(manager.rows_backed(held, 0, 100) == 8u);
  BOOST_TEST(manager.rows_backed(held, 0, 100, {0, 1}) == 4u);
  BOOST_TEST(manager.rows_backed(held, 0, 100, {0, 2}) == 0u);
  BOOST_TEST(manager.rows_backed(held, 0, 3) == 3u);
}

BOOST_AUTO_TEST_CASE(a_pool_with_a_whole_window_holds_any_length_of_the_sliding_group) {
  BOOST_TEST(small_manager({100, 3}).positions_max() == 400u);
  BOOST_TEST(small_manager({100, 2}).positions_max() == 8u);
  BOOST_TEST(small_manager({1, 3}).positions_max() == 4u);
}

BOOST_AUTO_TEST_CASE(all_blocks_come_back) {
  auto manager = small_manager();
  sequence_blocks first;
  sequence_blocks second;
  std::vector<kv_block_copy> copies;
  manager.extend(first, 0, 9, copies);
  manager.fork(first, second, 8);
  manager.release_passed(first, 9);
  manager.release_all(first);
  manager.release_all(second);
  BOOST_TEST(manager.counts()[full].free == 8u);
  BOOST_TEST(manager.counts()[sliding].free == 8u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
