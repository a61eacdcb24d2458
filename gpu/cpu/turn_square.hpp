#pragma once

#include <immintrin.h>

#include <cstdint>
#include <type_traits>

#include "gpu/cpu/elements.hpp"

namespace glimmer {

/// Transposes 8 rows of 8 words on processors with AVX2. A template over the lanes that use it,
/// so that each instruction set has code of its own.
template <class L>
struct square_of_keys {
  static __m256 eight(const float* x) { return _mm256_loadu_ps(x); }
  static __m256 eight(const bf16* x) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  /// E4M3 by way of f16, whose exponent has room for it: bits moved down are value / 256. NaN, the
  /// largest code, would be 480.
  static __m256 eight(const f8* x) {
    const __m128i words = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
    const __m128i half = _mm_and_si128(_mm_slli_epi16(words, 7), _mm_set1_epi16(-0x4080));
    const __m128i size = _mm_and_si128(half, _mm_set1_epi16(0x7fff));
    const __m128i nan = _mm_cmpeq_epi16(size, _mm_set1_epi16(0x3f80));  // all ones: a NaN of f16
    return _mm256_mul_ps(_mm256_cvtph_ps(_mm_or_si128(half, nan)), _mm256_set1_ps(256.0f));
  }
  static float one(f8 x) {
    const f8 padded[8] = {x};
    return _mm256_cvtss_f32(eight(padded));
  }

  /// Components turned at once; of bf16 they are moved in pairs.
  template <class T>
  static constexpr std::int64_t depth = std::is_same_v<T, bf16> ? 16 : 8;

  /// to[i * stride + j] = row[j][d + i], i < depth; zeros for rows that are null.
  template <class T>
  static void turn(const T* const* row, std::int64_t d, float* to, std::int64_t stride) {
    __m256 r[8];
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) r[j] = row[j] != nullptr ? eight(row[j] + d) : _mm256_setzero_ps();
    turn(r);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) _mm256_storeu_ps(to + i * stride, r[i]);
  }
  static void turn(const bf16* const* row, std::int64_t d, float* to, std::int64_t stride) {
    __m256 r[8];
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j)
      r[j] = row[j] != nullptr ? eight(reinterpret_cast<const float*>(row[j] + d))
                               : _mm256_setzero_ps();
    turn(r);
    const __m256 mask = _mm256_castsi256_ps(_mm256_set1_epi32(-65536));
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      const __m256i pair = _mm256_castps_si256(r[i]);
      _mm256_storeu_ps(to + 2 * i * stride, _mm256_castsi256_ps(_mm256_slli_epi32(pair, 16)));
      _mm256_storeu_ps(to + (2 * i + 1) * stride, _mm256_and_ps(r[i], mask));
    }
  }

 private:
  static void turn(__m256 (&r)[8]) {
    __m256 pairs[8];
#pragma GCC unroll 4
    for (int j = 0; j < 8; j += 2) {
      pairs[j] = _mm256_unpacklo_ps(r[j], r[j + 1]);
      pairs[j + 1] = _mm256_unpackhi_ps(r[j], r[j + 1]);
    }
    // Quarters: component i (and i + 4 in the upper half) of four rows.
    __m256 low[4];
    __m256 high[4];
    quarters(pairs, low);
    quarters(pairs + 4, high);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm256_permute2f128_ps(low[i], high[i], 0x20);
      r[i + 4] = _mm256_permute2f128_ps(low[i], high[i], 0x31);
    }
  }
  static void quarters(const __m256* pairs, __m256 (&to)[4]) {
    to[0] = _mm256_shuffle_ps(pairs[0], pairs[2], _MM_SHUFFLE(1, 0, 1, 0));
    to[1] = _mm256_shuffle_ps(pairs[0], pairs[2], _MM_SHUFFLE(3, 2, 3, 2));
    to[2] = _mm256_shuffle_ps(pairs[1], pairs[3], _MM_SHUFFLE(1, 0, 1, 0));
    to[3] = _mm256_shuffle_ps(pairs[1], pairs[3], _MM_SHUFFLE(3, 2, 3, 2));
  }
};

}  // namespace glimmer
