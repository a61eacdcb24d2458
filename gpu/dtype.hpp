#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace glimmer {

/// Element types of tensors on a device.
enum class dtype : std::uint8_t { f32, bf16, f16, i32, u8 };

constexpr std::size_t size_of(dtype t) {
  switch (t) {
    case dtype::f32:
    case dtype::i32: return 4;
    case dtype::bf16:
    case dtype::f16: return 2;
    case dtype::u8: return 1;
  }
  return 0;
}

constexpr std::string_view to_string(dtype t) {
  switch (t) {
    case dtype::f32: return "f32";
    case dtype::bf16: return "bf16";
    case dtype::f16: return "f16";
    case dtype::i32: return "i32";
    case dtype::u8: return "u8";
  }
  return "?";
}

}  // namespace glimmer
