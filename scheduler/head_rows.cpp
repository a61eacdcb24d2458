#include "scheduler/head_rows.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace glimmer {

void head_rows::note(const group_blocks& held, row_run positions) {
  for (auto at = positions.begin; at < positions.end;) {
    const auto block = at / block_size_;
    GLIMMER_ASSERT(block >= held.first_block && block < held.end_block(),
                   "head rows are written into blocks the sequence holds");
    const auto begin = at % block_size_;
    const auto end = std::min(block_size_, begin + positions.end - at);
    auto& run = run_of(held.blocks[block - held.first_block]);
    const bool touches = run.begin < run.end && begin <= run.end && end >= run.begin;
    run =
        touches ? row_run{std::min(run.begin, begin), std::max(run.end, end)} : row_run{begin, end};
    at += end - begin;
  }
}

std::uint32_t head_rows::first_of_run(const group_blocks& held, std::uint32_t end) const {
  auto first = end;
  while (first > 0) {
    const auto block = (first - 1) / block_size_;
    if (block < held.first_block || block >= held.end_block()) break;
    const auto base = block * block_size_;
    const auto& run = runs_[static_cast<std::size_t>(held.blocks[block - held.first_block])];
    if (run.begin >= run.end || run.end < first - base || run.begin >= first - base) break;
    first = base + run.begin;
    if (run.begin > 0) break;
  }
  return first;
}

}  // namespace glimmer
