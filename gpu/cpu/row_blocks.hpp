#pragma once

#include <cstdint>

namespace glimmer {

/// First row and panel of a block within its tile.
struct block_corner {
  std::int64_t row = 0;
  std::int64_t panel = 0;
};

/// Calls body(first, count) for blocks of up to `Most` rows, spread evenly: 8 rows as 4 + 4, for a
/// block of 2 would load as many weights as one of 6.
template <std::int64_t Most, class Body>
void in_even_blocks(std::int64_t rows, const Body& body) {
  std::int64_t blocks = (rows + Most - 1) / Most;
  for (std::int64_t row = 0; row < rows; --blocks) {
    const std::int64_t count = (rows - row + blocks - 1) / blocks;
    body(row, count);
    row += count;
  }
}

}  // namespace glimmer
