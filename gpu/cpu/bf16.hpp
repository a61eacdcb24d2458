#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "gpu/cpu/elements.hpp"

namespace glimmer {

inline float widen(float x) {
  return x;
}

inline float widen(bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

/// Exact for every value, subnormals included; a NaN becomes the quiet NaN of its sign.
inline float widen(f16 x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (x.bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = x.bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  if (exponent == 31) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

/// Exact for every value; 0x7F and 0xFF are NaN.
inline float widen(f8 x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x80u) << 24;
  const std::uint32_t exponent = (x.bits >> 3) & 0xfu;
  const std::uint32_t mantissa = x.bits & 0x7u;
  if ((x.bits & 0x7fu) == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-9f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 120u) << 23) | (mantissa << 20));
}

/// The value of an E2M1 code (0 .. 15): bit 3 is the sign.
inline float widen_f4(std::uint32_t code) {
  constexpr float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const float magnitude = magnitudes[code & 7u];
  return (code & 8u) != 0 ? -magnitude : magnitude;
}

/// Rounds to nearest, ties to even; a NaN stays a (quiet) NaN, an overflow becomes infinite.
inline bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

/// Rounds to nearest, ties to even, and saturates at +-448; a NaN stays one.
inline f8 to_f8(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 24 & 0x80u;
  const std::uint32_t size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return {static_cast<std::uint8_t>(sign | 0x7fu)};
  if (size < 0x3c800000u) {  // below 2^-6: whole multiples of 2^-9
    const float steps = std::nearbyint(std::bit_cast<float>(size) * 512.0f);
    return {static_cast<std::uint8_t>(sign | static_cast<std::uint32_t>(steps))};
  }
  const std::uint32_t rounded = ((size + 0x7ffffu + (size >> 20 & 1u)) >> 20) - (120u << 3);
  return {static_cast<std::uint8_t>(sign | (rounded < 0x7eu ? rounded : 0x7eu))};
}

/// One rounding to the type of an activation; none for f32.
template <class T>
T narrow(float x);

template <>
inline float narrow<float>(float x) {
  return x;
}

template <>
inline bf16 narrow<bf16>(float x) {
  return to_bf16(x);
}

template <>
inline f8 narrow<f8>(float x) {
  return to_f8(x);
}

}  // namespace glimmer
