#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace glimmer {

/// Element types of tensors on a device. `f8_e4m3` has bias 7, denormals, no infinity and NaN only
/// as 0x7F and 0xFF. An element of `f4_pair` is two E2M1 codes of neighbouring columns, the low
/// half first, so a row of n values has n / 2 elements. `i8` and `i4_pair` are what `ops::pack`
/// makes of wider weights: whole numbers with a scale for each group of columns.
enum class dtype : std::uint8_t { f32, bf16, f16, i32, u8, f8_e4m3, f4_pair, i8, i4_pair };

constexpr std::size_t size_of(dtype t) {
  switch (t) {
    case dtype::f32:
    case dtype::i32: return 4;
    case dtype::bf16:
    case dtype::f16: return 2;
    case dtype::u8:
    case dtype::f8_e4m3:
    case dtype::f4_pair:
    case dtype::i8:
    case dtype::i4_pair: return 1;
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
    case dtype::f8_e4m3: return "f8_e4m3";
    case dtype::f4_pair: return "f4_pair";
    case dtype::i8: return "i8";
    case dtype::i4_pair: return "i4_pair";
  }
  return "?";
}

}  // namespace glimmer
