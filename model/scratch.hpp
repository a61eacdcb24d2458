#pragma once

#include <cstddef>
#include <vector>

#include "gpu/device.hpp"

namespace glimmer {

/// One scratch tensor of a set of views, at its largest.
template <class Views>
struct scratch_piece {
  tensor Views::*view;
  tensor_shape shape;
  dtype type;

  /// A multiple of 64, so that the next one is aligned too.
  std::size_t bytes() const {
    const auto exact = static_cast<std::size_t>(shape.count()) * size_of(type);
    return (exact + 63) / 64 * 64;
  }
};

template <class Views>
std::size_t scratch_bytes(const std::vector<scratch_piece<Views>>& pieces) {
  std::size_t total = 0;
  for (const auto& piece : pieces) total += piece.bytes();
  return total;
}

/// Lays all pieces one behind the other into `memory`.
template <class Views>
Views place_scratch(const device_buffer& memory, const std::vector<scratch_piece<Views>>& pieces) {
  Views views;
  std::size_t offset = 0;
  for (const auto& piece : pieces) {
    views.*piece.view = memory.view(piece.type, piece.shape, offset);
    offset += piece.bytes();
  }
  return views;
}

}  // namespace glimmer
