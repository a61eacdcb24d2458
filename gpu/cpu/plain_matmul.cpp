#include <cmath>

#include "gpu/cpu/bf16.hpp"
#include "gpu/cpu/packing.hpp"
#include "gpu/cpu/plain.hpp"

namespace glimmer {

void plain_matmul(const matmul_tile& tile) {
  const panel_layout layout({.out = panel_width, .in = tile.k_end}, tile.weight_type);
  with_weight(tile.weight_type, [&](auto tag) {
    using W = decltype(tag);
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      for (std::int64_t out = 0; out < tile.panels * panel_width; ++out) {
        const auto* const panel =
            reinterpret_cast<const W*>(tile.weights + (out / panel_width) * tile.panel_bytes);
        const float* const x = tile.x + row * tile.x_stride;
        float& sum = tile.sums[row * tile.sums_stride + out];
        for (std::int64_t k = tile.k_begin; k < tile.k_end; ++k)
          sum =
              std::fma(x[k], widen(panel[layout.index({.lane = out % panel_width, .k = k})]), sum);
      }
    }
  });
}

}  // namespace glimmer
