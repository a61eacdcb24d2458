#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace glimmer {

/// The middle value, or the mean of the two; `values` must not be empty.
double median(std::vector<double> values);

/// The value below which `share` (0 .. 1) of the values lie, interpolated between neighbours; 0 if
/// there are none.
double percentile(std::vector<double> values, double share);

/// Seconds at which requests of a Poisson process arrive, `per_second` on average, ascending. The
/// same seed gives the same times.
struct arrival_plan {
  double per_second = 1;
  std::size_t count = 0;
  std::uint64_t seed = 0;
};
std::vector<double> poisson_arrivals(const arrival_plan& plan);

}  // namespace glimmer
