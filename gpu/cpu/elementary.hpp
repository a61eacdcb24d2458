#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "gpu/cpu/exp_terms.hpp"

namespace glimmer {

// Elementary functions of the CPU device, one lane at a time. They are built from operations that
// IEEE 754 rounds exactly (add, multiply, fused multiply-add, divide), in an order that the vector
// versions of fast_math.hpp follow, so every processor gives the same bits.

/// The larger one; the second when either is a NaN (as the processor's vector maximum).
template <class T>
constexpr T max_of(T a, T b) {
  return a > b ? a : b;
}

template <class T>
constexpr T min_of(T a, T b) {
  return a < b ? a : b;
}

/// x = n ln 2 + r with |r| <= ln(2) / 2: `tail` is e^r - 1 (Taylor to the seventh power, error
/// below 5.3e-9), and 2^n is the product of two powers, so that neither overflows.
struct exp_parts {
  float tail = 0;
  float first_power = 1;
  float second_power = 1;
};

inline float power_of_two(std::int32_t n) {
  return std::bit_cast<float>((n + 127) << 23);
}

inline exp_parts split_exp(float x) {
  using t = exp_terms;
  const float shifted = std::fma(x, t::log2_e, t::shift);
  const float n = shifted - t::shift;
  float r = std::fma(n, -t::ln2_high, x);
  r = std::fma(n, -t::ln2_low, r);
  float p = t::c7;
  p = std::fma(p, r, t::c6);
  p = std::fma(p, r, t::c5);
  p = std::fma(p, r, t::c4);
  p = std::fma(p, r, t::c3);
  p = std::fma(p, r, t::c2);
  p = std::fma(p * r, r, r);
  // Signed wrap-around is meant for a NaN, whose powers do not matter.
  const auto k = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) -
                                           std::bit_cast<std::uint32_t>(t::shift));
  const std::int32_t half = k >> 1;
  return {.tail = p, .first_power = power_of_two(half), .second_power = power_of_two(k - half)};
}

/// e^x within 2 ulp; 0 below -105, infinite above 88.73, NaN for NaN.
inline float exp_f32(float x) {
  const auto e = split_exp(min_of(exp_terms::highest, max_of(exp_terms::lowest, x)));
  return (e.tail + 1.0f) * e.first_power * e.second_power;
}

/// tanh x = t / (t + 2) with t = e^(2|x|) - 1, which keeps small x exact.
inline float tanh_f32(float x) {
  const auto e = split_exp(min_of(exp_terms::tanh_limit, 2.0f * std::fabs(x)));
  const float power = e.first_power * e.second_power;
  const float t = std::fma(power, e.tail, power - 1.0f);
  return std::copysign(t / (t + 2.0f), x);
}

inline float sigmoid_f32(float x) {
  return 1.0f / (1.0f + exp_f32(-x));
}

/// x * sigmoid(x) with one rounding less.
inline float silu_f32(float x) {
  return x / (1.0f + exp_f32(-x));
}

/// Partial sums are kept in 16 lanes, lane i % 16 for element i, and folded in halves: the one
/// order of summation of every reduction that is not a matmul's.
inline constexpr std::size_t lane_count = 16;
using lane_sums = std::array<float, lane_count>;

inline float fold(lane_sums v) {
  for (std::size_t half = lane_count / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) v[i] += v[i + half];
  return v[0];
}

}  // namespace glimmer
