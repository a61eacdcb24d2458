#pragma once

#include "gpu/cpu/lanes_avx512.hpp"

namespace glimmer {

namespace {

/// Products of bytes by `vpdpbusd`, which adds four of a byte without a sign by one with to a
/// number of 32 bits.
struct bytes_vnni : codes_avx512 {
  /// With more rows than 6 the sums of four panels would not fit into the registers.
  static constexpr std::int64_t rows_max = 8;
  static constexpr int panels_for(int rows) { return rows <= 6 ? 4 : 2; }
  /// A group takes so few cycles that a loop's end would cost a third more. Instrumented, functions
  /// of that size would take the compiler minutes.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool whole_groups = false;
#else
  static constexpr bool whole_groups = true;
#endif
  /// What makes a code a byte without a sign.
  static constexpr int offset(i8) {
    return 128;
  }
  static constexpr int offset(i4_pair) {
    return 8;
  }
  static constexpr int offset(f4_pair) {
    return 12;
  }
  static codes load(i8, const std::byte* x) {
    return _mm512_xor_si512(codes_avx512::load(x), _mm512_set1_epi8(-128));
  }
  /// The sum of both words times a factor.
  static codes times(codes words, int factor) {
    return _mm512_madd_epi16(words, _mm512_set1_epi16(static_cast<short>(factor)));
  }
  template <class W>
  static void add_products(W, codes& sums, codes w, codes x) {
    sums = _mm512_dpbusd_epi32(sums, w, x);
  }
  template <class W>
  static codes numbers(W, codes sums) {
    return sums;
  }
};

}  // namespace

}  // namespace glimmer
