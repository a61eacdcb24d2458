#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/assert.hpp"
#include "gpu/dtype.hpp"

namespace glimmer {

/// An address in device memory. Opaque to the host: only a device of the kind that made it may
/// follow it.
struct device_pointer {
  std::uintptr_t address = 0;
  friend constexpr bool operator==(device_pointer, device_pointer) = default;
};

/// Up to four extents, outermost first.
struct tensor_shape {
  std::array<std::int64_t, 4> extent{};
  std::uint8_t rank = 0;

  constexpr tensor_shape() = default;
  constexpr tensor_shape(std::initializer_list<std::int64_t> e) {
    GLIMMER_ASSERT(e.size() <= 4, "a tensor has at most four axes");
    for (const auto n : e) extent[rank++] = n;
  }
  constexpr std::int64_t operator[](std::size_t axis) const { return extent[axis]; }
  constexpr std::int64_t count() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < rank; ++i) n *= extent[i];
    return n;
  }
  friend constexpr bool operator==(const tensor_shape&, const tensor_shape&) = default;
};

/// Rows [begin, begin + count) of an outermost axis.
struct row_range {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// A typed, dense, row-major view of device memory. Owns nothing; passed by value.
struct tensor {
  device_pointer data;
  tensor_shape shape;
  dtype type = dtype::f32;

  constexpr std::int64_t count() const { return shape.count(); }
  constexpr std::size_t bytes() const { return static_cast<std::size_t>(count()) * size_of(type); }
  /// A part of the outermost axis: `t.rows({begin, count})`.
  tensor rows(row_range range) const;
  /// The same elements under another shape of equal count.
  tensor reshaped(tensor_shape to) const;
};

}  // namespace glimmer
