// Compiled for AVX-512 (F, BW, DQ, VL) alone; nothing here may run before the processor is known to
// have it, and no function may be shared with the rest of the program.
#include "gpu/cpu/lanes_avx512.hpp"

namespace glimmer {

namespace {

/// Sums are two words or one number of 32 bits for each output.
struct bytes_avx512 : codes_avx512 {
  static constexpr const char* name = "avx512";
  static constexpr std::int64_t rows_max = 4;
  /// Registers would not suffice for all of a group at once.
  static constexpr bool whole_groups = false;
  /// What makes a code a byte without a sign.
  static constexpr int offset(i8) { return 0; }
  static constexpr int offset(i4_pair) { return 8; }
  static constexpr int offset(f4_pair) { return 12; }
  static codes load(i8, const std::byte* x) { return codes_avx512::load(x); }
  static codes none() { return _mm512_setzero_si512(); }
  /// Words times a factor.
  static codes times(codes words, int factor) {
    return _mm512_mullo_epi16(words, _mm512_set1_epi16(static_cast<short>(factor)));
  }
  /// |w| * (x with the sign of w): words of two products stay within 2 * 127 * 127, so nothing
  /// saturates.
  static void add_products(i8, codes& sums, codes w, codes x) {
    const codes turned = _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), none(), x);
    const codes pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(w), turned);
    sums = _mm512_add_epi32(sums, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
  }
  /// In words: two products of 24 * 127 at most do not saturate.
  static void add_products(i4_pair, codes& sums, codes w, codes x) {
    sums = _mm512_add_epi16(sums, _mm512_maddubs_epi16(w, x));
  }
  static void add_products(f4_pair, codes& sums, codes w, codes x) {
    add_products(i4_pair{}, sums, w, x);
  }
  /// The sums of a group, in 32 bits.
  static codes numbers(i8, codes sums) { return sums; }
  static codes numbers(i4_pair, codes sums) {
    return _mm512_madd_epi16(sums, _mm512_set1_epi16(1));
  }
  static codes numbers(f4_pair, codes sums) { return numbers(i4_pair{}, sums); }
};

}  // namespace

const cpu_kernels& avx512_kernels() {
  return fast_kernels<lanes_avx512<bytes_avx512>>;
}

}  // namespace glimmer
