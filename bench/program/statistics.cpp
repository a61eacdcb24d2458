#include "bench/program/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "base/random.hpp"

namespace glimmer {

double median(std::vector<double> values) {
  GLIMMER_ASSERT(!values.empty(), "there is a middle value");
  return percentile(std::move(values), 0.5);
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], at - static_cast<double>(below));
}

std::vector<double> poisson_arrivals(const arrival_plan& plan) {
  std::vector<double> times;
  double now = 0;
  for (std::size_t i = 0; i < plan.count; ++i) {
    times.push_back(now);
    const double u = uniform_draw({.seed = plan.seed, .position = i});
    now += -std::log1p(-u) / plan.per_second;
  }
  return times;
}

}  // namespace glimmer
