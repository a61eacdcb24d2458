#include "executor/candidates.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "tests/executor/random_rows.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(candidates_test)

constexpr auto infinity = std::numeric_limits<float>::infinity();
constexpr auto nan = std::numeric_limits<float>::quiet_NaN();

std::vector<token_id> tokens_of(const std::vector<candidate>& all) {
  std::vector<token_id> out;
  for (const auto& c : all) out.push_back(c.token);
  return out;
}

std::vector<candidate> all_of(const std::vector<float>& row) {
  std::vector<candidate> out;
  gather(out, row, {*row_maximum(row), 1.0f, -infinity});
  return out;
}

BOOST_AUTO_TEST_CASE(a_row_with_nan_or_plus_infinity_or_nothing_finite_is_broken) {
  const std::vector<std::vector<float>> broken = {
      {}, {nan}, {1, nan, 2}, {1, 2, infinity}, {-infinity, -infinity}, {-infinity, nan}};
  for (const auto& row : broken) BOOST_TEST(!row_maximum(row).has_value());
  BOOST_TEST(row_maximum(std::vector{-infinity, -3.0f, -4.0f}).value() == -3.0f);
}

BOOST_AUTO_TEST_CASE(among_equal_maxima_the_lowest_token_is_greedy) {
  const std::vector<float> row = {1, 5, 5, 2, 5};
  BOOST_TEST(lowest_argmax(row, 5.0f) == 1);
}

BOOST_AUTO_TEST_CASE(weights_are_exponentials_to_float_precision) {
  std::vector<candidate> all;
  for (int i = 0; i < 3000; ++i) all.push_back({i, static_cast<float>(-i) / 100, 0});
  const auto sum = weigh(all, {0, 1, 0});
  std::uint64_t again = 0;
  for (const auto& c : all) {
    const auto exact = std::exp(static_cast<double>(c.logit)) * static_cast<double>(weight_one);
    BOOST_TEST(std::abs(static_cast<double>(c.weight) - exact) <= 1 + 3e-7 * exact);
    again += c.weight;
  }
  BOOST_TEST(all[0].weight == weight_one);
  BOOST_TEST(sum == again);
}

BOOST_AUTO_TEST_CASE(masked_and_hopeless_tokens_weigh_nothing) {
  std::vector<candidate> all = {{0, 0, 0}, {1, -30.0f, 0}, {2, -1e30f, 0}, {3, -infinity, 0}};
  BOOST_TEST(weigh(all, {0, 1, 0}) == weight_one);
  BOOST_TEST(all[3].weight == 0u);
}

BOOST_AUTO_TEST_CASE(the_weight_of_a_row_equals_the_sum_over_its_candidates) {
  for (const auto& row : random_rows({20, 777}, 5)) {
    auto all = all_of(row);
    const auto maximum = *row_maximum(row);
    BOOST_TEST(row_weight(row, maximum) == weigh(all, {maximum, 1, 0}));
  }
}

BOOST_AUTO_TEST_CASE(the_best_are_kept_in_token_order_and_ties_go_to_the_lower_token) {
  auto all = all_of({3, 1, 4, 1, 5, 4, 4, -infinity});
  keep_best(all, 3);
  BOOST_TEST(tokens_of(all) == (std::vector<token_id>{2, 4, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(gathering_the_best_keeps_what_gathering_all_and_choosing_would) {
  for (const std::size_t width : {1, 127, 128, 129, 5000}) {
    for (const auto& row : random_rows({10, width}, 6 + width)) {
      for (const std::size_t count : {1, 2, 7, 39, 64, 6000}) {
        for (const float floor : {-infinity, -30.0f, -1.0f}) {
          const gather_rule rule{*row_maximum(row), 0.7f, floor};
          std::vector<candidate> expected;
          gather(expected, row, rule);
          keep_best(expected, count);
          std::vector<candidate> got;
          gather_best(got, row, rule, count);
          BOOST_TEST((tokens_of(got) == tokens_of(expected)),
                     width << " " << count << " " << floor);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_heaviest_are_kept_until_the_weight_is_reached) {
  std::vector<candidate> all = {{0, 1, 10}, {1, 3, 30}, {2, 2, 20}, {3, 2, 20}, {4, 0, 5}};
  auto some = all;
  keep_heaviest(some, 30);
  BOOST_TEST(tokens_of(some) == (std::vector<token_id>{1}), boost::test_tools::per_element());
  some = all;
  keep_heaviest(some, 31);
  BOOST_TEST(tokens_of(some) == (std::vector<token_id>{1, 2}), boost::test_tools::per_element());
  some = all;
  keep_heaviest(some, 51);
  BOOST_TEST(tokens_of(some) == (std::vector<token_id>{1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keeping_the_best_equals_a_full_sort_for_random_rows_with_many_ties) {
  for (const auto& row : random_rows({60, 300}, 11)) {
    auto sorted = all_of(row);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.logit > b.logit; });
    for (const std::size_t count : {1, 2, 7, 150, 299, 300, 1000}) {
      auto expected = sorted;
      expected.resize(std::min(count, expected.size()));
      std::sort(expected.begin(), expected.end(),
                [](const auto& a, const auto& b) { return a.token < b.token; });
      auto kept = all_of(row);
      keep_best(kept, count);
      BOOST_TEST(tokens_of(kept) == tokens_of(expected), boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
