#pragma once

#include <cmath>
#include <limits>

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

/// What sums of pairs take for zero.
inline float without_tiny(float x) {
  return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

/// Terms of a sum: rows of x and w, `width` long.
struct pair_terms {
  const float* x = nullptr;
  const float* w = nullptr;
  std::int64_t width = 0;
};

/// Their sum as the contract states it for pairs: even and odd columns apart, 32 at a time.
inline float sum_of_pairs(pair_terms t) {
  float sum = 0;
  for (std::int64_t begin = 0; begin < t.width; begin += 32) {
    float parts[] = {0, 0};
    for (std::int64_t k = begin; k < std::min(begin + 32, t.width); ++k)
      parts[k % 2] =
          without_tiny(std::fma(without_tiny(t.x[k]), without_tiny(t.w[k]), parts[k % 2]));
    sum = without_tiny(sum + without_tiny(parts[0] + parts[1]));
  }
  return sum;
}

/// x w^T of bf16 by bf16 in pairs.
inline raw_bytes sums_of_pairs(const floats& x, const floats& weights, matrix_extent extent) {
  floats sums;
  for (std::int64_t row = 0; row < std::ssize(x); row += extent.in)
    for (std::int64_t w = 0; w < std::ssize(weights); w += extent.in)
      sums.push_back(sum_of_pairs({x.data() + row, weights.data() + w, extent.in}));
  return rig::encode(sums, dtype::f32);
}

/// One number of a matrix.
struct code_place {
  std::int64_t row = 0;
  std::int64_t k = 0;
};

/// Rows of whole numbers, and a scale for each group of columns.
struct coded {
  std::int64_t width = 0;
  std::int64_t columns = 0;  ///< of a group
  std::vector<int> codes;    ///< [rows, width]
  floats scales;             ///< [rows, groups]

  std::int64_t groups() const { return (width + columns - 1) / columns; }
  int code(code_place at) const { return codes[static_cast<std::size_t>(at.row * width + at.k)]; }
  float scale(code_place at) const {
    return scales[static_cast<std::size_t>(at.row * groups() + at.k / columns)];
  }
  double value(code_place at) const {
    return static_cast<double>(code(at)) * static_cast<double>(scale(at));
  }
};

/// Divided by what scale_of(the value farthest from 0) says, and rounded by the C library.
template <class Scale>
coded coded_rows(const floats& rows, coded form, int lowest, const Scale& scale_of) {
  for (std::size_t i = 0; i < rows.size(); i += static_cast<std::size_t>(form.width)) {
    for (std::int64_t k = 0; k < form.width; k += form.columns) {
      const auto begin = rows.begin() + static_cast<std::int64_t>(i) + k;
      const floats group(begin, begin + std::min(form.columns, form.width - k));
      float extreme = 0;
      for (const float x : group)
        if (std::abs(x) > std::abs(extreme)) extreme = x;
      const float scale = scale_of(extreme);
      form.scales.push_back(scale);
      for (const float x : group) {
        const int code = scale == 0 ? 0 : static_cast<int>(std::nearbyint(x / scale));
        form.codes.push_back(std::clamp(code, lowest, lowest == -8 ? 7 : 127));
      }
    }
  }
  return form;
}

/// Activations as the contract quantises them, in the groups of an empty `form`.
inline coded coded_activations(const floats& x, coded form) {
  return coded_rows(x, std::move(form), -127, [](float a) { return std::abs(a) / 127.0f; });
}

/// x w^T as the contract states it: one chain over the groups.
inline floats chain_of_groups(const coded& x, const coded& w) {
  floats sums;
  for (std::int64_t row = 0; row < std::ssize(x.codes) / x.width; ++row) {
    for (std::int64_t o = 0; o < std::ssize(w.codes) / w.width; ++o) {
      float sum = 0;
      for (std::int64_t begin = 0; begin < w.width; begin += w.columns) {
        int count = 0;
        for (std::int64_t k = begin; k < std::min(begin + w.columns, w.width); ++k)
          count += x.code({row, k}) * w.code({o, k});
        sum = std::fma(static_cast<float>(count), w.scale({o, begin}) * x.scale({row, begin}), sum);
      }
      sums.push_back(sum);
    }
  }
  return sums;
}

/// Relative RMS of what codes stand for.
inline double error_of(const coded& codes, const floats& values) {
  double error = 0;
  double size = 0;
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    const double value = values[static_cast<std::size_t>(i)];
    error += std::pow(codes.value({i / codes.width, i % codes.width}) - value, 2);
    size += std::pow(value, 2);
  }
  return std::sqrt(error / size);
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
