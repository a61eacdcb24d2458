#pragma once

#include <cstdint>

#include "base/assert.hpp"
#include "gpu/dtype.hpp"

namespace glimmer {

// Types only: this header is also compiled for processors that the caller may not have, so it must
// hold no function that the linker could share with the rest of the program.

/// bfloat16: the upper half of an f32.
struct bf16 {
  std::uint16_t bits;
};

/// IEEE 754 binary16.
struct f16 {
  std::uint16_t bits;
};

/// FP8 E4M3: bias 7, denormals, no infinity, NaN only as 0x7F and 0xFF.
struct f8 {
  std::uint8_t bits;
};

/// Two FP4 E2M1 codes, the low half first.
struct f4_pair {
  std::uint8_t bits;
};

/// A whole number of -127 .. 127.
struct i8 {
  std::int8_t bits;
};

/// Two numbers of -8 .. 7, stored + 8, the low half first.
struct i4_pair {
  std::uint8_t bits;
};

/// A run of elements in host memory, its type known at run time.
struct elements {
  void* data = nullptr;
  dtype type = dtype::f32;
};

struct const_elements {
  const void* data = nullptr;
  dtype type = dtype::f32;
};

/// Calls body(T{}) with the element type of an activation.
template <class Body>
void with_activation(dtype type, const Body& body) {
  if (type == dtype::bf16) return body(bf16{});
  GLIMMER_ASSERT(type == dtype::f32, "activations are bf16 or f32");
  body(float{});
}

/// Calls body(T{}) with the element type of a weight.
template <class Body>
void with_weight(dtype type, const Body& body) {
  if (type == dtype::f16) return body(f16{});
  with_activation(type, body);
}

/// Calls body(T{}) with the element type of a KV cache.
template <class Body>
void with_cached(dtype type, const Body& body) {
  if (type == dtype::f8_e4m3) return body(f8{});
  with_activation(type, body);
}

/// Calls body(T{}) with the stored type of a packed matrix.
template <class Body>
void with_packed(dtype type, const Body& body) {
  if (type == dtype::f8_e4m3) return body(f8{});
  if (type == dtype::f4_pair) return body(f4_pair{});
  if (type == dtype::i8) return body(i8{});
  if (type == dtype::i4_pair) return body(i4_pair{});
  with_weight(type, body);
}

}  // namespace glimmer
