#include "gpu/cpu/elementary.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

namespace glimmer {

namespace {

/// Distance of `got` from the exact value, in units of the f32 grid there.
double ulps(float got, double exact) {
  const float near = static_cast<float>(exact);
  const double unit = static_cast<double>(
      std::nextafter(std::fabs(near), std::numeric_limits<float>::infinity()) - std::fabs(near));
  return std::abs(static_cast<double>(got) - exact) / unit;
}

struct interval {
  double from;
  double to;
};

/// Calls body(x) over an even grid.
template <class Body>
void sweep(interval range, const Body& body) {
  constexpr int steps = 200'000;
  for (int i = 0; i <= steps; ++i)
    body(static_cast<float>(range.from + (range.to - range.from) * i / steps));
}

constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

BOOST_AUTO_TEST_SUITE(elementary_test)

BOOST_AUTO_TEST_CASE(exp_is_within_two_units_of_the_last_place) {
  double worst = 0;
  sweep({-87, 88.7},
        [&](float x) { worst = std::max(worst, ulps(exp_f32(x), std::exp(double{x}))); });
  BOOST_TEST(worst <= 2.0);
}

BOOST_AUTO_TEST_CASE(exp_has_its_exact_and_its_extreme_values) {
  BOOST_TEST(exp_f32(0.0f) == 1.0f);
  BOOST_TEST(exp_f32(-infinity) == 0.0f);
  BOOST_TEST(exp_f32(-200.0f) == 0.0f);
  BOOST_TEST(exp_f32(infinity) == infinity);
  BOOST_TEST(exp_f32(89.0f) == infinity);
  BOOST_TEST(std::isfinite(exp_f32(88.7f)));
  BOOST_TEST(exp_f32(-100.0f) > 0.0f);  // subnormal
  BOOST_TEST(std::isnan(exp_f32(std::numeric_limits<float>::quiet_NaN())));
}

BOOST_AUTO_TEST_CASE(tanh_is_within_four_units_of_the_last_place) {
  double worst = 0;
  const auto look = [&](float x) {
    worst = std::max(worst, ulps(tanh_f32(x), std::tanh(double{x})));
  };
  sweep({-12, 12.0}, look);
  sweep({-0.01, 0.01}, look);
  BOOST_TEST(worst <= 4.0);
}

BOOST_AUTO_TEST_CASE(tanh_is_odd_and_bounded) {
  BOOST_TEST(tanh_f32(infinity) == 1.0f);
  BOOST_TEST(tanh_f32(-infinity) == -1.0f);
  BOOST_TEST(std::signbit(tanh_f32(-0.0f)));
  BOOST_TEST(tanh_f32(1e-20f) == 1e-20f);
  sweep({0, 15.0}, [](float x) { BOOST_REQUIRE(tanh_f32(-x) == -tanh_f32(x)); });
  BOOST_TEST(std::isnan(tanh_f32(std::numeric_limits<float>::quiet_NaN())));
}

BOOST_AUTO_TEST_CASE(sigmoid_and_silu_agree_with_f64) {
  double worst = 0;
  sweep({-80, 80.0}, [&](float x) {
    const double exact = 1 / (1 + std::exp(-double{x}));
    worst = std::max({worst, ulps(sigmoid_f32(x), exact), ulps(silu_f32(x), x * exact)});
  });
  BOOST_TEST(worst <= 4.0);
  BOOST_TEST(sigmoid_f32(0.0f) == 0.5f);
  BOOST_TEST(sigmoid_f32(-infinity) == 0.0f);
}

BOOST_AUTO_TEST_CASE(a_fold_adds_in_halves) {
  lane_sums lanes{};
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = static_cast<float>(i);
  BOOST_TEST(fold(lanes) == 120.0f);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
