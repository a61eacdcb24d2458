#include <boost/test/unit_test.hpp>
#include <vector>

#include "scheduler/block_pool.hpp"
#include "tests/simulation/dice.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(block_pool_test)

BOOST_AUTO_TEST_CASE(blocks_are_handed_out_from_zero_up) {
  block_pool pool{3};
  BOOST_TEST(pool.take().id == 0);
  BOOST_TEST(pool.take().id == 1);
  BOOST_TEST(pool.available() == 1u);
}

BOOST_AUTO_TEST_CASE(a_shared_block_is_free_when_its_last_user_lets_go) {
  block_pool pool{1};
  const auto id = pool.take().id;
  pool.share(id);
  pool.release(id, retention::none);
  BOOST_TEST(pool.available() == 0u);
  pool.release(id, retention::none);
  BOOST_TEST(pool.counts().free == 1u);
}

BOOST_AUTO_TEST_CASE(cached_blocks_are_taken_only_when_no_free_one_is_left_oldest_first) {
  block_pool pool{3};
  for (int i = 0; i < 3; ++i) pool.take();
  pool.release(2, retention::lasting);
  pool.release(0, retention::lasting);
  pool.release(1, retention::none);
  BOOST_TEST(pool.take().id == 1);
  const auto first = pool.take();
  BOOST_TEST(first.id == 2);
  BOOST_TEST(first.evicted);
  BOOST_TEST(pool.take().id == 0);
}

BOOST_AUTO_TEST_CASE(passing_blocks_are_evicted_before_lasting_ones) {
  block_pool pool{2};
  for (int i = 0; i < 2; ++i) pool.take();
  pool.release(0, retention::lasting);
  pool.release(1, retention::passing);
  BOOST_TEST(pool.take().id == 1);
}

BOOST_AUTO_TEST_CASE(a_cached_block_in_use_again_is_never_evicted) {
  block_pool pool{2};
  pool.take();
  pool.release(0, retention::lasting);
  pool.share(0);
  BOOST_TEST(pool.take().id == 1);
  BOOST_TEST(pool.available() == 0u);
}

BOOST_AUTO_TEST_CASE(free_cached_and_used_are_all_blocks_after_any_history) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      dice chance{seed};
      block_pool pool{chance.in({1, 20})};
      std::vector<block_id> uses;
      for (int i = 0; i < 300; ++i) {
        if (pool.available() > 0 && chance.percent(45)) {
          uses.push_back(pool.take().id);
        } else if (!uses.empty()) {
          const auto at = chance.next() % uses.size();
          if (chance.percent(30)) {
            pool.share(uses[at]);
            uses.push_back(uses[at]);
          } else {
            pool.release(uses[at], static_cast<retention>(chance.in({0, 2})));
            uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(at));
          }
        }
        const auto counts = pool.counts();
        BOOST_REQUIRE(pool.consistent());
        BOOST_REQUIRE_EQUAL(counts.free + counts.cached + counts.used, counts.all);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
