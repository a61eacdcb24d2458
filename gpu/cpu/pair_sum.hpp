#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace glimmer {

/// Sum over up to 32 columns of bf16 products, even and odd ones apart, as tiles form it: whatever
/// is smaller than the smallest normal number counts as zero.
class pair_sum {
 public:
  static constexpr std::int64_t columns = 32;

  /// What is multiplied in one column.
  struct factors {
    float x = 0;
    float w = 0;
  };

  /// Adds a product of an even (0) or odd (1) column, in order.
  void add(std::int64_t odd, factors f) {
    parts_[odd] = flushed(std::fma(flushed(f.x), flushed(f.w), parts_[odd]));
  }
  float added_to(float sum) const { return flushed(flushed(sum) + flushed(parts_[0] + parts_[1])); }

  static float flushed(float x) {
    return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
  }

 private:
  float parts_[2] = {};
};

}  // namespace glimmer
