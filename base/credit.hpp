#pragma once

#include <cstddef>

#include "base/assert.hpp"

namespace glimmer {

/// Counts the right to send: a sender takes before it sends, the receiver's answer gives back.
/// Not thread-safe; lives in one actor or one core.
class credit {
 public:
  explicit credit(std::size_t total) : total_{total}, left_{total} {}

  std::size_t total() const { return total_; }
  std::size_t left() const { return left_; }
  std::size_t taken() const { return total_ - left_; }

  /// Takes `count` or nothing.
  bool take(std::size_t count = 1) {
    if (count > left_) return false;
    left_ -= count;
    return true;
  }

  void give_back(std::size_t count = 1) {
    GLIMMER_ASSERT(count <= taken(), "no more credit comes back than was taken");
    left_ += count;
  }

 private:
  std::size_t total_;
  std::size_t left_;
};

}  // namespace glimmer
