// Compiled for AVX2, FMA and F16C alone; nothing here may run before the processor is known to have
// them, and no function may be shared with the rest of the program.
#include <immintrin.h>

#include "gpu/cpu/fast_kernels.hpp"
#include "gpu/cpu/turn_square.hpp"

namespace glimmer {

namespace {

__m256i eight_words(const void* x) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(x));
}

/// Products of bytes: four neighbours along the columns of 16 outputs each. Sums are two words or
/// one number of 32 bits.
struct bytes_avx2 {
  struct codes {
    __m256i a;
    __m256i b;
  };
  static constexpr int panels_for(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }
  static constexpr std::int64_t rows_max = 4;
  /// Registers would not suffice for all of a group at once.
  static constexpr bool whole_groups = false;
  /// What makes a code a byte without a sign.
  static constexpr int offset(i8) { return 0; }
  static constexpr int offset(i4_pair) { return 8; }
  static constexpr int offset(f4_pair) { return 12; }
  static codes none() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static codes load(i8, const std::byte* x) { return {eight_words(x), eight_words(x + 32)}; }
  /// The same four for every output.
  static codes all(const std::byte* four) {
    int bits;
    __builtin_memcpy(&bits, four, sizeof bits);
    return {_mm256_set1_epi32(bits), _mm256_set1_epi32(bits)};
  }
  /// The lower and the upper halves of bytes, 0 .. 15.
  static __m256i low_halves_of(__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
  static codes low(i4_pair, const std::byte* x) {
    return {low_halves_of(eight_words(x)), low_halves_of(eight_words(x + 32))};
  }
  static codes high(i4_pair, const std::byte* x) {
    return {low_halves_of(_mm256_srli_epi16(eight_words(x), 4)),
            low_halves_of(_mm256_srli_epi16(eight_words(x + 32), 4))};
  }
  /// E2M1 codes, doubled, + 12.
  static codes doubled_f4(const codes& halves) {
    const __m256i table = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
    return {_mm256_shuffle_epi8(table, halves.a), _mm256_shuffle_epi8(table, halves.b)};
  }
  static codes low(f4_pair, const std::byte* x) { return doubled_f4(low(i4_pair{}, x)); }
  static codes high(f4_pair, const std::byte* x) { return doubled_f4(high(i4_pair{}, x)); }
  /// The same words times a factor.
  static codes times(const codes& same, int factor) {
    const __m256i words = _mm256_mullo_epi16(same.a, _mm256_set1_epi16(static_cast<short>(factor)));
    return {words, words};
  }
  /// Sums stay in their registers: gathered into trees, as compilers like to, they would not fit.
  static void keep(__m256i& sums) { asm("" : "+x"(sums)); }
  /// |w| * (x with the sign of w): words of two products stay within 2 * 127 * 127, so nothing
  /// saturates.
  static void add(i8, __m256i& sums, __m256i w, __m256i x) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    keep(sums);
  }
  /// In words: two products of 24 * 127 at most do not saturate.
  static void add(i4_pair, __m256i& sums, __m256i w, __m256i x) {
    sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(w, x));
    keep(sums);
  }
  static void add(f4_pair, __m256i& sums, __m256i w, __m256i x) { add(i4_pair{}, sums, w, x); }
  template <class W>
  static void add_products(W format, codes& sums, const codes& w, const codes& x) {
    add(format, sums.a, w.a, x.a);
    add(format, sums.b, w.b, x.b);
  }
  /// The sums of a group, in 32 bits.
  static codes numbers(i8, const codes& sums) { return sums; }
  static codes numbers(i4_pair, const codes& sums) {
    const __m256i ones = _mm256_set1_epi16(1);
    return {_mm256_madd_epi16(sums.a, ones), _mm256_madd_epi16(sums.b, ones)};
  }
  static codes numbers(f4_pair, const codes& sums) { return numbers(i4_pair{}, sums); }
};

/// 16 lanes in two registers.
struct lanes_avx2 {
  using bytes = bytes_avx2;
  static constexpr const char* name = "avx2";
  /// Rows and panels of a block: sums, weights and one factor fit into 16 registers.
  static constexpr int rows_max = 6;
  static constexpr int panels_for(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }
  /// What many rows read instead of FP8 codes; bf16 is widened as it is used.
  using wide_f8 = f16;
  static constexpr bool widens_bf16 = false;
  /// Sums of six queries, one vector of keys and one factor fit into 16 registers.
  static constexpr int queries_at_once = 6;
  static constexpr int vectors_at_once = 1;

  __m256 a;
  __m256 b;

  static lanes_avx2 zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static lanes_avx2 all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static __m256 widened(__m128i bf16_bits) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bf16_bits), 16));
  }
  static __m128i eight(const void* x) { return _mm_loadu_si128(static_cast<const __m128i*>(x)); }

  static lanes_avx2 load(const float* x, all_lanes) {
    return {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)};
  }
  static lanes_avx2 load(const bf16* x, all_lanes) {
    return {widened(eight(x)), widened(eight(x + 8))};
  }
  static lanes_avx2 load(const f16* x, all_lanes) {
    return {_mm256_cvtph_ps(eight(x)), _mm256_cvtph_ps(eight(x + 8))};
  }
  static lanes_avx2 load(const f8* x, all_lanes) {
    return {square_of_keys<lanes_avx2>::eight(x), square_of_keys<lanes_avx2>::eight(x + 8)};
  }
  template <class T>
  static lanes_avx2 load(const T* x, first_lanes lanes) {
    alignas(32) T whole[16] = {};
    __builtin_memcpy(whole, x, static_cast<std::size_t>(lanes.count) * sizeof(T));
    return load(whole, all_lanes{});
  }
  /// 16 pairs of bf16: the first of each pair, the second of each pair.
  static lanes_avx2 low_halves(const std::byte* pairs) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(eight_words(pairs), 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(eight_words(pairs + 32), 16))};
  }
  static lanes_avx2 high_halves(const std::byte* pairs) {
    const __m256i mask = _mm256_set1_epi32(-65536);
    return {_mm256_castsi256_ps(_mm256_and_si256(eight_words(pairs), mask)),
            _mm256_castsi256_ps(_mm256_and_si256(eight_words(pairs + 32), mask))};
  }
  /// 16 pairs of E4M3 codes become 16 f16 and 16 more. Bits of a code, moved down from the upper
  /// byte of a word to where f16 has its own, are an f16 of value / 256, denormals included.
  static void widen_f8_pair(f16* halves, const std::byte* pairs) {
    const __m256i mask = _mm256_set1_epi16(-0x4080);
    const __m256i both = eight_words(pairs);
    const __m256i low = _mm256_srai_epi16(_mm256_slli_epi16(both, 8), 1);
    const __m256i high = _mm256_srai_epi16(both, 1);
    auto* const to = reinterpret_cast<__m256i*>(halves);
    _mm256_store_si256(to, _mm256_and_si256(low, mask));
    _mm256_store_si256(to + 1, _mm256_and_si256(high, mask));
  }
  /// 16 positive codes in a row, their bits where f32 has its own: value * 2^-120.
  static lanes_avx2 f8_sizes(const std::byte* codes) {
    const auto eight_of = [](const std::byte* x) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x));
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu8_epi32(bytes), 20));
    };
    return {eight_of(codes), eight_of(codes + 8)};
  }

  static lanes_avx2 of_numbers(const bytes_avx2::codes& x) {
    return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)};
  }
  /// Whole numbers of -127 .. 127, a byte each.
  void store_codes(std::byte* x) const {
    const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(a), _mm256_cvtps_epi32(b));
    const __m256i both = _mm256_packs_epi16(words, words);  // a0-3 b0-3 twice, a4-7 b4-7 twice
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(x),
                     _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(both, order)));
  }

  void store(float* x, all_lanes) const {
    _mm256_storeu_ps(x, a);
    _mm256_storeu_ps(x + 8, b);
  }
  void store(bf16* x, all_lanes) const {
    const __m256i low = _mm256_srli_epi32(rounded_bits(a), 16);
    const __m256i high = _mm256_srli_epi32(rounded_bits(b), 16);
    const __m256i mixed = _mm256_packus_epi32(low, high);  // 0-3, 8-11, 4-7, 12-15
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(x),
                        _mm256_permute4x64_epi64(mixed, _MM_SHUFFLE(3, 1, 2, 0)));
  }
  template <class T>
  void store(T* x, first_lanes lanes) const {
    alignas(32) T whole[16];
    store(whole, all_lanes{});
    __builtin_memcpy(x, whole, static_cast<std::size_t>(lanes.count) * sizeof(T));
  }

  /// Upper halves of the values rounded to nearest even; NaN kept and made quiet.
  static __m256i rounded_bits(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
    return _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(up), _mm256_castsi256_ps(quiet), nan));
  }
  lanes_avx2 rounded(float) const { return *this; }
  lanes_avx2 rounded(bf16) const {
    const __m256i mask = _mm256_set1_epi32(-65536);
    return {_mm256_castsi256_ps(_mm256_and_si256(rounded_bits(a), mask)),
            _mm256_castsi256_ps(_mm256_and_si256(rounded_bits(b), mask))};
  }
  static float one(float x) { return x; }
  static float one(f8 x) { return square_of_keys<lanes_avx2>::one(x); }
  static float one(bf16 x) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16);
  }

  static lanes_avx2 fma(lanes_avx2 x, lanes_avx2 y, lanes_avx2 z) {
    return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
  }
  static lanes_avx2 max_of(lanes_avx2 x, lanes_avx2 y) {
    return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
  }
  static lanes_avx2 min_of(lanes_avx2 x, lanes_avx2 y) {
    return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)};
  }
  friend lanes_avx2 operator+(lanes_avx2 x, lanes_avx2 y) {
    return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
  }
  friend lanes_avx2 operator-(lanes_avx2 x, lanes_avx2 y) {
    return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
  }
  friend lanes_avx2 operator*(lanes_avx2 x, lanes_avx2 y) {
    return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
  }
  friend lanes_avx2 operator/(lanes_avx2 x, lanes_avx2 y) {
    return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
  }
  lanes_avx2 root() const { return {_mm256_sqrt_ps(a), _mm256_sqrt_ps(b)}; }
  lanes_avx2 magnitude() const {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, a), _mm256_andnot_ps(sign, b)};
  }
  lanes_avx2 negated() const {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_xor_ps(sign, a), _mm256_xor_ps(sign, b)};
  }
  lanes_avx2 with_sign_of(lanes_avx2 other) const {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const lanes_avx2 m = magnitude();
    return {_mm256_or_ps(m.a, _mm256_and_ps(sign, other.a)),
            _mm256_or_ps(m.b, _mm256_and_ps(sign, other.b))};
  }

  static void powers_of_two(lanes_avx2 shifted, lanes_avx2& first, lanes_avx2& second) {
    halves(shifted.a, first.a, second.a);
    halves(shifted.b, first.b, second.b);
  }
  static void halves(__m256 shifted, __m256& first, __m256& second) {
    const __m256i n = _mm256_sub_epi32(_mm256_castps_si256(shifted),
                                       _mm256_castps_si256(_mm256_set1_ps(exp_terms::shift)));
    const __m256i half = _mm256_srai_epi32(n, 1);
    const __m256i bias = _mm256_set1_epi32(127);
    first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    second = _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(n, half), bias), 23));
  }

  float first() const { return _mm256_cvtss_f32(a); }
  /// In halves, as `fold` of elementary.hpp.
  float sum() const {
    const __m256 eight = _mm256_add_ps(a, b);
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
  }
  float largest() const {
    const __m256 eight = _mm256_max_ps(a, b);
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_shuffle_ps(x, x, 1)));
  }

  using square = square_of_keys<lanes_avx2>;
};

}  // namespace

const cpu_kernels& avx2_kernels() {
  return fast_kernels<lanes_avx2>;
}

}  // namespace glimmer
