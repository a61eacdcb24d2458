#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

#include "scheduler/step_budget.hpp"
#include "tests/simulation/dice.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(step_budget_test)

namespace {

std::vector<std::uint32_t> split(std::uint32_t budget, const std::vector<std::uint32_t>& tokens) {
  std::vector<token_demand> demands;
  for (const auto wanted : tokens) demands.push_back({.tokens = wanted});
  split_tokens(budget, demands);
  std::vector<std::uint32_t> granted;
  for (const auto& demand : demands) granted.push_back(demand.granted);
  return granted;
}

}  // namespace

BOOST_AUTO_TEST_CASE(streams_that_decode_get_their_row_before_any_prompt) {
  BOOST_TEST(split(10, {1000, 1, 1, 1}) == (std::vector<std::uint32_t>{7, 1, 1, 1}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_first_prompt_gets_half_and_the_others_share_the_rest) {
  BOOST_TEST(split(100, {1000, 1000, 1000}) == (std::vector<std::uint32_t>{50, 25, 25}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_short_prompt_leaves_goes_to_the_first) {
  BOOST_TEST(split(100, {1000, 10}) == (std::vector<std::uint32_t>{90, 10}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_lone_prompt_gets_everything) {
  BOOST_TEST(split(100, {1000}) == (std::vector<std::uint32_t>{100}),
             boost::test_tools::per_element());
  BOOST_TEST(split(100, {30}) == (std::vector<std::uint32_t>{30}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(no_split_exceeds_the_budget_or_wastes_it_or_forgets_anybody) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      dice chance{seed};
      std::vector<std::uint32_t> wanted(chance.in({1, 12}));
      for (auto& tokens : wanted) tokens = chance.percent(40) ? 1 : chance.in({1, 60});
      const auto budget = static_cast<std::uint32_t>(wanted.size()) + chance.in({0, 100});
      const auto granted = split(budget, wanted);
      std::uint32_t total = 0;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        BOOST_REQUIRE(granted[i] >= 1 && granted[i] <= wanted[i]);
        total += granted[i];
      }
      const auto all = std::accumulate(wanted.begin(), wanted.end(), 0u);
      BOOST_REQUIRE_EQUAL(total, std::min(all, budget));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_cut_chunk_ends_with_a_block_if_it_reaches_one) {
  BOOST_TEST(whole_block_rows({.position = 0, .rows = 19}, 16) == 16u);
  BOOST_TEST(whole_block_rows({.position = 5, .rows = 19}, 16) == 11u);
  BOOST_TEST(whole_block_rows({.position = 5, .rows = 7}, 16) == 7u);
  BOOST_TEST(whole_block_rows({.position = 16, .rows = 16}, 16) == 16u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
