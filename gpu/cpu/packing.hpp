#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cpu/kernels.hpp"

namespace glimmer {

/// One element of a panel.
struct panel_place {
  std::int64_t lane = 0;
  std::int64_t k = 0;
};

/// Layout of packed weights: panels of 16 outputs, one after another, each a contiguous stream.
///
///     f32, f16   panel [in, 16]
///     bf16       panel [in / 2, 16, 2]: pairs along `in`, so that a shift and a mask widen them
///
/// `in` is rounded up to even, `out` to a multiple of 16; what lies beyond is never read as a
/// value.
struct panel_layout {
  std::int64_t panels = 0;
  std::int64_t panel_bytes = 0;
  dtype type = dtype::bf16;

  panel_layout(matrix_extent extent, dtype source)
      : panels((extent.out + panel_width - 1) / panel_width),
        panel_bytes((extent.in + extent.in % 2) * panel_width *
                    static_cast<std::int64_t>(size_of(source))),
        type(source) {}

  std::size_t bytes() const { return static_cast<std::size_t>(panels * panel_bytes); }

  /// Where an element of a panel lies, counted in elements.
  std::int64_t index(panel_place at) const {
    if (type == dtype::bf16) return (at.k / 2) * (2 * panel_width) + 2 * at.lane + at.k % 2;
    return at.k * panel_width + at.lane;
  }
};

}  // namespace glimmer
