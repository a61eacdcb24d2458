#pragma once

#include <cmath>

#include "tests/gpu/rig.hpp"

namespace glimmer {

/// x w^T on the device.
inline raw_bytes product_bytes(rig& r, const tensor& x, const packed_matrix& w) {
  const tensor out = r.make({x.shape[0], w.out}, dtype::f32);
  r.op().matmul(r.stream(), out, x, w);
  return r.get_bytes(out);
}

/// x w^T as the contract states it: one chain of fused multiply-adds over f32 weights [out, in].
inline raw_bytes chain_of(const floats& x, const floats& weights, matrix_extent extent) {
  floats sums;
  for (std::size_t row = 0; row < x.size(); row += static_cast<std::size_t>(extent.in)) {
    for (std::int64_t o = 0; o < extent.out; ++o) {
      float sum = 0;
      for (std::int64_t k = 0; k < extent.in; ++k)
        sum = std::fma(x[row + static_cast<std::size_t>(k)],
                       weights[static_cast<std::size_t>(o * extent.in + k)], sum);
      sums.push_back(sum);
    }
  }
  return rig::encode(sums, dtype::f32);
}

/// Each of several batch sizes gives every row the bits that it has alone.
inline void expect_same_bits_alone(rig& r, dice& d, const packed_matrix& w) {
  for (std::int64_t rows = 1; rows <= 33; rows += rows < 14 ? 1 : 19) {
    const tensor put = r.put(d.normal(rows * w.in), {rows, w.in}, dtype::bf16);
    const raw_bytes all = product_bytes(r, put, w);
    for (std::int64_t row = 0; row < rows; ++row) {
      const raw_bytes one = product_bytes(r, put.rows({row, 1}), w);
      BOOST_REQUIRE(std::equal(one.begin(), one.end(), all.begin() + row * std::ssize(one)));
    }
  }
}

}  // namespace glimmer
