#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace glimmer {

// The pieces of the reference models: plain loops in double.

using double_row = std::vector<double>;

/// How a head is turned: by pairs (d, d + D/2), or by neighbours (2m, 2m + 1), which is wrong.
enum class rotation : std::uint8_t { none, half_split, interleaved };

/// x W^T.
double_row linear(const double_row& x, const std::vector<float>& w);
/// x / rms(x), times (offset + w) when there is a weight.
double_row normed(const double_row& x, double eps, const std::vector<float>* w, double offset);
double sigmoid(double z);
/// Turns one head. Angles are those of the published reference: products in single precision.
void rotate(std::span<double> head, std::int64_t position, double theta, rotation how);

}  // namespace glimmer
