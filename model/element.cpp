#include "model/element.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

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

}  // namespace

std::optional<dtype> plain_type(const stored_tensor& t) {
  if (t.type == "BF16") return dtype::bf16;
  if (t.type == "F16") return dtype::f16;
  if (t.type == "F32") return dtype::f32;
  return std::nullopt;
}

float element(const stored_tensor& t, std::size_t i) {
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
