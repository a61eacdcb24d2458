#include "tests/model/reference_math.hpp"

#include <cmath>

namespace glimmer {

double_row linear(const double_row& x, const std::vector<float>& w) {
  double_row out(w.size() / x.size());
  for (std::size_t o = 0; o < out.size(); ++o) {
    const float* column = w.data() + o * x.size();
    for (std::size_t i = 0; i < x.size(); ++i) out[o] += x[i] * column[i];
  }
  return out;
}

double_row normed(const double_row& x, double eps, const std::vector<float>* w, double offset) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double r = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  double_row out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = x[i] * r * (w == nullptr ? 1.0 : offset + (*w)[i]);
  }
  return out;
}

double sigmoid(double z) {
  return 1.0 / (1.0 + std::exp(-z));
}

void rotate(std::span<double> head, std::int64_t position, double theta, rotation how) {
  const auto dim = static_cast<std::int64_t>(head.size());
  const auto half = dim / 2;
  for (std::int64_t j = 0; j < half; ++j) {
    const float exponent = static_cast<float>(2 * j) / static_cast<float>(dim);
    const float frequency = 1.0f / std::pow(static_cast<float>(theta), exponent);
    const double angle = static_cast<float>(position) * frequency;
    double& a = head[static_cast<std::size_t>(how == rotation::interleaved ? 2 * j : j)];
    double& b = head[static_cast<std::size_t>(how == rotation::interleaved ? 2 * j + 1 : j + half)];
    const double first = a * std::cos(angle) - b * std::sin(angle);
    b = b * std::cos(angle) + a * std::sin(angle);
    a = first;
  }
}

}  // namespace glimmer
