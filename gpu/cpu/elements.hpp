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

}  // namespace glimmer
