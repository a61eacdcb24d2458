#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/block_groups.hpp"

namespace glimmer {

/// Positions [begin, end).
struct row_run {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Which positions of the sliding blocks hold context rows of the draft head: one unbroken run per
/// block, because a head that was away leaves everything before unreachable anyway.
///
///     block 5   [ . . r r ]      block 9   [ r r r . ]      a table 5, 9: run [2, 7)
///
/// The head's rows lie in the blocks of the sliding group, so they are shared, cached, copied and
/// evicted with them; this book knows which were written. Plain memory, one entry per block.
class head_rows {
 public:
  struct sizes {
    std::uint32_t block_size = 16;
    std::uint32_t blocks = 0;
  };
  explicit head_rows(const sizes& s) : block_size_{s.block_size}, runs_(s.blocks) {}

  /// The block's contents are given up.
  void clear(block_id id) { run_of(id) = {}; }
  struct block_pair {
    block_id from = 0;
    block_id to = 0;
  };
  void copy(block_pair blocks) { run_of(blocks.to) = run_of(blocks.from); }
  /// Rows of `positions`, which `held` covers, were written.
  void note(const group_blocks& held, row_run positions);

  /// First of the unbroken run of positions in `held` that ends at `end`; `end` if none does.
  std::uint32_t first_of_run(const group_blocks& held, std::uint32_t end) const;
  /// Rows of the head in this block.
  std::uint32_t count(block_id id) const {
    const auto& run = runs_[static_cast<std::size_t>(id)];
    return run.end - run.begin;
  }

 private:
  row_run& run_of(block_id id) { return runs_[static_cast<std::size_t>(id)]; }

  std::uint32_t block_size_;
  std::vector<row_run> runs_;  // per block, in positions from its first one
};

}  // namespace glimmer
