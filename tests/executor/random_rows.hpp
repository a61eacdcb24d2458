#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.hpp"

namespace glimmer {

struct rows_shape {
  std::size_t rows = 0;
  std::size_t width = 0;
};
/// Rows of several shapes: smooth, with many ties, with masked tokens, sharply peaked, very wide.
/// Prints its seed so that a failure can be repeated.
inline std::vector<std::vector<float>> random_rows(rows_shape shape, std::uint64_t seed) {
  const auto [rows, width] = shape;
  BOOST_TEST_MESSAGE("random_rows seed " << seed);
  std::vector<std::vector<float>> out(rows, std::vector<float>(width));
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < width; ++i) {
      const double u = uniform_draw({.seed = seed, .position = r * width + i});
      const double v = uniform_draw({.seed = seed, .position = r * width + i, .stream = 1});
      auto logit = static_cast<float>(std::log(u / (1 - u)) * 2);
      if (r % 5 == 1) logit = std::round(logit);
      if (r % 5 == 2 && v < 0.5) logit = -std::numeric_limits<float>::infinity();
      if (r % 5 == 3 && v < 0.01) logit += 20;
      if (r % 5 == 4) logit *= 1e6f;
      out[r][i] = logit;
    }
    out[r][r % width] = 1;  // never all masked
  }
  return out;
}

}  // namespace glimmer
