#include "bench/program/statistics.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(statistics_test)

BOOST_AUTO_TEST_CASE(percentiles_lie_between_their_neighbours) {
  BOOST_TEST(median({3, 1, 2}) == 2);
  BOOST_TEST(median({4, 1}) == 2.5);
  BOOST_TEST(percentile({10, 30, 20, 40, 50}, 0) == 10);
  BOOST_TEST(percentile({10, 30, 20, 40, 50}, 1) == 50);
  BOOST_TEST(percentile({10, 30, 20, 40, 50}, 0.25) == 20);
  BOOST_TEST(percentile({0, 10}, 0.9) == 9, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(percentile({}, 0.5) == 0);
}

BOOST_AUTO_TEST_CASE(arrivals_are_a_poisson_process_that_repeats_with_its_seed) {
  const arrival_plan plan{.per_second = 20, .count = 20'000, .seed = 5};
  const auto times = poisson_arrivals(plan);
  BOOST_TEST(times.size() == plan.count);
  BOOST_TEST(std::ranges::is_sorted(times));
  BOOST_TEST(times == poisson_arrivals(plan), boost::test_tools::per_element());
  // Gaps of an exponential law: mean and standard deviation are both 1 / rate.
  const double mean = times.back() / static_cast<double>(plan.count - 1);
  double squares = 0;
  for (std::size_t i = 1; i < times.size(); ++i)
    squares += std::pow(times[i] - times[i - 1] - mean, 2);
  const double deviation = std::sqrt(squares / static_cast<double>(plan.count - 1));
  BOOST_TEST(mean == 0.05, boost::test_tools::tolerance(0.05));
  BOOST_TEST(deviation == 0.05, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
