#pragma once

namespace glimmer {

/// Constants of e^x, one place for the scalar and the vector versions.
struct exp_terms {
  static constexpr float log2_e = 1.44269504f;
  static constexpr float shift = 12582912.0f;      ///< 1.5 * 2^23: adding it rounds to an integer
  static constexpr float ln2_high = 0.693145752f;  ///< 16 bits, so that n * ln2_high is exact
  static constexpr float ln2_low = 1.42860682e-6f;
  static constexpr float c2 = 0.5f;  ///< 1/k! from here on
  static constexpr float c3 = 1.66666667e-1f;
  static constexpr float c4 = 4.16666667e-2f;
  static constexpr float c5 = 8.33333333e-3f;
  static constexpr float c6 = 1.38888889e-3f;
  static constexpr float c7 = 1.98412698e-4f;
  static constexpr float lowest = -105.0f;    ///< e^x is 0 from here down
  static constexpr float highest = 89.0f;     ///< and infinite from here up
  static constexpr float tanh_limit = 20.0f;  ///< tanh(x) is 1 where 2x is larger
};

}  // namespace glimmer
