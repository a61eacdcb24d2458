#include "executor/sampler.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "tests/executor/random_rows.hpp"
#include "tests/executor/reference_sampler.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(sampler_test)

constexpr auto infinity = std::numeric_limits<float>::infinity();

std::vector<int> draw_counts(const std::vector<float>& row, sampling_params params, int draws) {
  sampler s;
  std::vector<int> counts(row.size());
  for (int i = 0; i < draws; ++i)
    ++counts[static_cast<std::size_t>(s.draw(row, params, static_cast<std::uint64_t>(i)).value())];
  return counts;
}

BOOST_AUTO_TEST_CASE(temperature_zero_and_tiny_temperatures_are_greedy_with_the_lowest_token) {
  sampler s;
  const std::vector<float> row = {0, 7, 7, 3};
  for (const float t : {0.0f, 1e-8f, 1e-30f, 1e-45f})
    BOOST_TEST(s.draw(row, {.temperature = t}, 3).value() == 1);
}

BOOST_AUTO_TEST_CASE(the_draw_depends_on_seed_and_output_index_alone) {
  sampler used, fresh;
  const auto rows = random_rows({10, 500}, 3);
  for (const auto& row : rows) used.draw(row, {.top_p = 0.5f, .seed = 9}, 1);
  for (const auto& row : rows)
    BOOST_TEST(used.draw(row, {.seed = 4}, 77).value() == fresh.draw(row, {.seed = 4}, 77).value());
}

BOOST_AUTO_TEST_CASE(draws_follow_the_softmax_by_the_chi_square_test) {
  const std::vector<float> row = {0.0f, 1.0f, 2.0f, -1.0f, 0.5f, -infinity, 1.5f, 0.25f};
  for (const float temperature : {0.5f, 1.0f, 2.0f}) {
    const int draws = 20'000;
    const auto counts = draw_counts(row, {.temperature = temperature, .seed = 2024}, draws);
    double sum = 0, chi_square = 0;
    for (const float logit : row) sum += std::exp(logit / temperature);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double expected = draws * std::exp(row[i] / temperature) / sum;
      if (expected > 0) chi_square += std::pow(counts[i] - expected, 2) / expected;
    }
    BOOST_TEST(counts[5] == 0);
    BOOST_TEST(chi_square < 22.46);  // 6 degrees of freedom, 0.1 %
  }
}

BOOST_AUTO_TEST_CASE(every_filter_combination_draws_what_a_full_sort_draws) {
  sampler s;
  const auto rows = random_rows({25, 400}, 17);
  for (const float temperature : {0.3f, 1.0f, 40.0f})
    for (const std::int32_t top_k : {0, 1, 5, 399})
      for (const float top_p : {1.0f, 0.9f, 0.3f, 1e-30f})
        for (const float min_p : {0.0f, 0.05f, 1.0f})
          for (std::size_t r = 0; r < rows.size(); ++r) {
            const sampling_params params{.temperature = temperature,
                                         .top_p = top_p,
                                         .min_p = min_p,
                                         .top_k = top_k,
                                         .seed = r};
            const auto token = s.draw(rows[r], params, r * 3);
            BOOST_REQUIRE(token.has_value());
            BOOST_TEST(*token == reference_draw(rows[r], params, r * 3));
          }
}

BOOST_AUTO_TEST_CASE(top_k_one_and_tiny_top_p_and_full_min_p_are_greedy_up_to_ties) {
  const std::vector<float> row = {2, 9, 9, 1};
  BOOST_TEST(draw_counts(row, {.top_k = 1}, 200)[1] == 200);
  BOOST_TEST(draw_counts(row, {.top_p = 1e-30f}, 200)[1] == 200);
  const auto both = draw_counts(row, {.min_p = 1.0f}, 200);
  BOOST_TEST(both[1] + both[2] == 200);
  BOOST_TEST(both[2] > 0);
}

BOOST_AUTO_TEST_CASE(top_p_counts_the_mass_that_top_k_left) {
  // 0.5, 0.25, 0.125, 0.125: of the best two, the first alone holds two thirds.
  const std::vector<float> row = {std::log(4.0f), std::log(2.0f), 0, 0};
  BOOST_TEST(draw_counts(row, {.top_p = 0.6f, .top_k = 2}, 300)[0] == 300);
  BOOST_TEST(draw_counts(row, {.top_p = 0.6f}, 300)[1] > 0);
}

BOOST_AUTO_TEST_CASE(hostile_numbers_draw_a_legal_token_or_nothing) {
  sampler s;
  const float huge = std::numeric_limits<float>::max();
  const std::vector<std::vector<float>> rows = {
      {huge, -huge, 0}, {-huge, -huge}, {1e-45f, -1e-45f}, {-infinity, -huge}, {0}};
  for (const auto& row : rows)
    for (const float t : {0.0f, 2e-5f, 1.0f, 1e8f, huge})
      for (const float p : {1.0f, 1e-38f})
        for (const std::int32_t k : {0, 1, 2147483647}) {
          const auto token =
              s.draw(row, {.temperature = t, .top_p = p, .top_k = k}, ~std::uint64_t{0});
          BOOST_REQUIRE(token.has_value());
          BOOST_TEST(row[static_cast<std::size_t>(*token)] > -infinity);
        }
  BOOST_TEST(!s.draw(std::vector{0.0f, std::nanf("")}, {}, 0).has_value());
  BOOST_TEST(!s.draw(std::vector{0.0f, infinity}, {}, 0).has_value());
}

BOOST_AUTO_TEST_CASE(logprobs_are_the_plain_log_softmax_and_the_top_is_sorted) {
  sampler s;
  const std::vector<float> row = {1.0f, 3.0f, 2.0f, 3.0f, -infinity};
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit));
  const auto found = s.logprob_of(row, 2, 3);
  BOOST_TEST(found.token == 2);
  BOOST_TEST(std::abs(found.logprob - (2.0 - std::log(sum))) < 1e-6);
  BOOST_REQUIRE(found.top.size() == 3u);
  BOOST_TEST(found.top[0].first == 1);
  BOOST_TEST(found.top[1].first == 3);
  BOOST_TEST(found.top[2].first == 2);
  BOOST_TEST(found.top[2].second == found.logprob);
  BOOST_TEST(s.logprob_of(row, 2, 0).top.empty());
  BOOST_TEST(s.logprob_of(row, 2, 100).top.size() == row.size());
  BOOST_TEST(s.logprob_of(row, 2, 100).top.back().second == -infinity);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
