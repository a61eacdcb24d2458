#pragma once

#include <immintrin.h>

#include "gpu/cpu/fast_kernels.hpp"
#include "gpu/cpu/turn_square.hpp"

namespace glimmer {

// Included by each source that is compiled for some AVX-512 processor: the anonymous namespace
// gives each code of its own, which no other may run.
namespace {

/// Bytes of 16 outputs, four neighbours along the columns each, however they are multiplied.
struct codes_avx512 {
  using codes = __m512i;
  static constexpr int panels_for(int) { return 4; }
  static codes load(const std::byte* x) { return _mm512_loadu_si512(x); }
  /// The same four for every output.
  static codes all(const std::byte* four) {
    int bits;
    __builtin_memcpy(&bits, four, sizeof bits);
    return _mm512_set1_epi32(bits);
  }
  /// The lower and the upper halves of bytes, 0 .. 15.
  static codes low(i4_pair, const std::byte* x) {
    return _mm512_and_si512(load(x), _mm512_set1_epi8(15));
  }
  static codes high(i4_pair, const std::byte* x) {
    return _mm512_and_si512(_mm512_srli_epi16(load(x), 4), _mm512_set1_epi8(15));
  }
  /// E2M1 codes, doubled, + 12.
  static codes doubled_f4(codes halves) {
    const __m512i table = _mm512_broadcast_i32x4(
        _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
    return _mm512_shuffle_epi8(table, halves);
  }
  static codes low(f4_pair, const std::byte* x) { return doubled_f4(low(i4_pair{}, x)); }
  static codes high(f4_pair, const std::byte* x) { return doubled_f4(high(i4_pair{}, x)); }
};

/// 32 E4M3 codes as bf16 times 2^Shift. Bits have their place there, but for the exponent's bias;
/// subnormals are so few that a table holds them.
template <int Shift>
__m512i bf16_of_f8(__m256i codes) {
  constexpr std::uint16_t one = (127 + Shift) << 7;
  constexpr std::uint16_t unit = one - (9 << 7);  // 2^-9, that of subnormals
  alignas(64) static constexpr std::uint16_t small[32] = {
      0, unit, unit + 0x80, unit + 0xc0, unit + 0x100, unit + 0x120, unit + 0x140, unit + 0x160};
  const __m512i words = _mm512_cvtepu8_epi16(codes);
  const __m512i size = _mm512_and_si512(words, _mm512_set1_epi16(0x7f));
  const __m512i sign = _mm512_slli_epi16(_mm512_sub_epi16(words, size), 8);
  __m512i bits = _mm512_add_epi16(_mm512_slli_epi16(size, 4), _mm512_set1_epi16(one - (7 << 7)));
  bits = _mm512_mask_permutexvar_epi16(bits, _mm512_cmplt_epi16_mask(size, _mm512_set1_epi16(8)),
                                       size, _mm512_load_si512(small));
  bits = _mm512_mask_mov_epi16(bits, _mm512_cmpeq_epi16_mask(size, _mm512_set1_epi16(0x7f)),
                               _mm512_set1_epi16(0x7fc0));
  return _mm512_or_si512(bits, sign);
}

/// 16 lanes in one register; `Bytes` multiplies codes.
template <class Bytes>
struct lanes_avx512 {
  using bytes = Bytes;
  static constexpr const char* name = Bytes::name;
  /// Rows and panels of a block: sums, weights and one factor fit into 32 registers.
  static constexpr int rows_max = 6;
  static constexpr int panels_for(int) { return 4; }
  /// Both units that multiply would be busy widening weights.
  using wide_f8 = float;
  static constexpr bool widens_bf16 = true;
  static constexpr int queries_at_once = 6;
  static constexpr int vectors_at_once = 4;

  __m512 v;

  static lanes_avx512 zero() { return {_mm512_setzero_ps()}; }
  static lanes_avx512 all(float x) { return {_mm512_set1_ps(x)}; }
  static __mmask16 mask(first_lanes lanes) {
    return static_cast<__mmask16>((1u << lanes.count) - 1u);
  }
  static lanes_avx512 widened(__m256i bf16_bits) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16_bits), 16))};
  }

  static lanes_avx512 load(const float* x, all_lanes) { return {_mm512_loadu_ps(x)}; }
  static lanes_avx512 load(const float* x, first_lanes lanes) {
    return {_mm512_maskz_loadu_ps(mask(lanes), x)};
  }
  static lanes_avx512 load(const bf16* x, all_lanes) {
    return widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
  }
  static lanes_avx512 load(const bf16* x, first_lanes lanes) {
    return widened(_mm256_maskz_loadu_epi16(mask(lanes), x));
  }
  static lanes_avx512 load(const f16* x, all_lanes) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)))};
  }
  static lanes_avx512 load(const f16* x, first_lanes lanes) {
    return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask(lanes), x))};
  }
  static lanes_avx512 load(const f8* x, all_lanes) {
    using eighths = square_of_keys<lanes_avx512<Bytes>>;
    return {
        _mm512_insertf32x8(_mm512_castps256_ps512(eighths::eight(x)), eighths::eight(x + 8), 1)};
  }
  static lanes_avx512 load(const f8* x, first_lanes lanes) {
    alignas(16) f8 whole[16] = {};
    __builtin_memcpy(whole, x, static_cast<std::size_t>(lanes.count));
    return load(whole, all_lanes{});
  }
  /// 16 pairs of bf16: the first of each pair, the second of each pair.
  static lanes_avx512 low_halves(const std::byte* pairs) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(pairs), 16))};
  }
  static lanes_avx512 high_halves(const std::byte* pairs) {
    return {_mm512_castsi512_ps(
        _mm512_and_si512(_mm512_loadu_si512(pairs), _mm512_set1_epi32(-65536)))};
  }
  /// 16 pairs of E4M3 codes become 16 f16 and 16 more. Bits of a code, moved down from the upper
  /// byte of a word to where f16 has its own, are an f16 of value / 256, denormals included.
  static void widen_f8_pair(f16* halves, const std::byte* pairs) {
    const __m256i mask = _mm256_set1_epi16(-0x4080);
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(pairs));
    const __m256i low = _mm256_srai_epi16(_mm256_slli_epi16(both, 8), 1);
    const __m256i high = _mm256_srai_epi16(both, 1);
    auto* const to = reinterpret_cast<__m256i*>(halves);
    _mm256_store_si256(to, _mm256_and_si256(low, mask));
    _mm256_store_si256(to + 1, _mm256_and_si256(high, mask));
  }
  static __m128i sixteen(const std::byte* x) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  }
  /// 16 positive codes in a row, their bits where f32 has its own: value * 2^-120.
  static lanes_avx512 f8_sizes(const std::byte* codes) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu8_epi32(sixteen(codes)), 20))};
  }

  static lanes_avx512 of_numbers(__m512i x) { return {_mm512_cvtepi32_ps(x)}; }
  /// Whole numbers of -127 .. 127, a byte each.
  void store_codes(std::byte* x) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(x), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
  }

  void store(float* x, all_lanes) const { _mm512_storeu_ps(x, v); }
  void store(float* x, first_lanes lanes) const { _mm512_mask_storeu_ps(x, mask(lanes), v); }
  void store(bf16* x, all_lanes) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(x), bf16_bits());
  }
  void store(bf16* x, first_lanes lanes) const {
    _mm256_mask_storeu_epi16(x, mask(lanes), bf16_bits());
  }

  /// Upper halves of the values rounded to nearest even; NaN kept and made quiet.
  __m512i rounded_bits() const {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x400000));
  }
  __m256i bf16_bits() const { return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded_bits(), 16)); }
  lanes_avx512 rounded(float) const { return *this; }
  lanes_avx512 rounded(bf16) const {
    return {_mm512_castsi512_ps(_mm512_and_si512(rounded_bits(), _mm512_set1_epi32(-65536)))};
  }
  static float one(float x) { return x; }
  static float one(f8 x) { return square_of_keys<lanes_avx512<Bytes>>::one(x); }
  static float one(bf16 x) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16);
  }

  static lanes_avx512 fma(lanes_avx512 a, lanes_avx512 b, lanes_avx512 c) {
    return {_mm512_fmadd_ps(a.v, b.v, c.v)};
  }
  static lanes_avx512 max_of(lanes_avx512 a, lanes_avx512 b) { return {_mm512_max_ps(a.v, b.v)}; }
  static lanes_avx512 min_of(lanes_avx512 a, lanes_avx512 b) { return {_mm512_min_ps(a.v, b.v)}; }
  friend lanes_avx512 operator+(lanes_avx512 a, lanes_avx512 b) {
    return {_mm512_add_ps(a.v, b.v)};
  }
  friend lanes_avx512 operator-(lanes_avx512 a, lanes_avx512 b) {
    return {_mm512_sub_ps(a.v, b.v)};
  }
  friend lanes_avx512 operator*(lanes_avx512 a, lanes_avx512 b) {
    return {_mm512_mul_ps(a.v, b.v)};
  }
  friend lanes_avx512 operator/(lanes_avx512 a, lanes_avx512 b) {
    return {_mm512_div_ps(a.v, b.v)};
  }
  lanes_avx512 root() const { return {_mm512_sqrt_ps(v)}; }
  lanes_avx512 magnitude() const { return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), v)}; }
  lanes_avx512 negated() const { return {_mm512_xor_ps(_mm512_set1_ps(-0.0f), v)}; }
  lanes_avx512 with_sign_of(lanes_avx512 other) const {
    return {_mm512_or_ps(magnitude().v, _mm512_and_ps(_mm512_set1_ps(-0.0f), other.v))};
  }

  static void powers_of_two(lanes_avx512 shifted, lanes_avx512& first, lanes_avx512& second) {
    const __m512i n = _mm512_sub_epi32(_mm512_castps_si512(shifted.v),
                                       _mm512_castps_si512(_mm512_set1_ps(exp_terms::shift)));
    const __m512i half = _mm512_srai_epi32(n, 1);
    const __m512i bias = _mm512_set1_epi32(127);
    first.v = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(half, bias), 23));
    second.v = _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_add_epi32(_mm512_sub_epi32(n, half), bias), 23));
  }

  float first() const { return _mm512_cvtss_f32(v); }
  /// In halves, as `fold` of elementary.hpp.
  float sum() const {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
  }
  float largest() const { return _mm512_reduce_max_ps(v); }

  using square = square_of_keys<lanes_avx512<Bytes>>;
};

}  // namespace

}  // namespace glimmer
