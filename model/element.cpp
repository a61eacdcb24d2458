#include "model/element.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/assert.hpp"

namespace glimmer {
namespace {

float widened_half(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1F;
  const std::uint32_t fraction = half & 0x3FF;
  if (exponent == 0) {  // zero and denormals: fraction * 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

/// Sign, 4 bits of exponent with bias 7, 3 of mantissa; denormals; the last code is NaN.
float widened_eight(std::uint8_t code) {
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                  : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  if ((code & 0x7F) == 0x7F) magnitude = std::numeric_limits<float>::quiet_NaN();
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

}  // namespace

std::optional<dtype> plain_type(const stored_tensor& t) {
  if (t.type == "BF16") return dtype::bf16;
  if (t.type == "F16") return dtype::f16;
  if (t.type == "F32") return dtype::f32;
  return std::nullopt;
}

float element(const stored_tensor& t, std::size_t i) {
  if (t.type == "F8_E4M3") {
    GLIMMER_ASSERT(i < t.count(), "an element of the tensor");
    return widened_eight(std::to_integer<std::uint8_t>(t.data[i]));
  }
  const auto type = plain_type(t);
  GLIMMER_ASSERT(type && i < t.count(), "an element of a plain weight");
  if (*type == dtype::f32) {
    float value = 0;
    std::memcpy(&value, t.data.data() + i * sizeof value, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, t.data.data() + i * sizeof bits, sizeof bits);
  return *type == dtype::f16 ? widened_half(bits)
                             : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace glimmer
