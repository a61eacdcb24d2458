#include "scheduler/block_manager.hpp"

#include <algorithm>
#include <limits>

#include "base/assert.hpp"

namespace glimmer {

block_manager::block_manager(const block_manager_config& config)
    : config_{config},
      pools_{block_pool{config.blocks[index_of(kv_group::full)]},
             block_pool{config.blocks[index_of(kv_group::sliding)]}} {}

std::uint32_t block_manager::blocks_covering(std::uint64_t positions) const {
  return static_cast<std::uint32_t>((positions + config_.block_size - 1) / config_.block_size);
}

// Blocks that `window` consecutive positions touch at the worst alignment.
std::uint32_t block_manager::window_blocks() const {
  return blocks_covering(config_.window - 1) + 1;
}

std::uint64_t block_manager::positions_max() const {
  const auto& blocks = config_.blocks;
  const auto full = std::uint64_t{blocks[index_of(kv_group::full)]} * config_.block_size;
  const auto sliding = blocks[index_of(kv_group::sliding)];
  if (sliding >= window_blocks()) return full;
  return std::min(full, std::uint64_t{sliding} * config_.block_size);
}

block_need block_manager::missing(const sequence_blocks& held, std::uint32_t computed,
                                  std::uint64_t positions) const {
  block_need missing{};
  for (const auto group : all_kv_groups) {
    const auto& mine = held.groups[index_of(group)];
    auto wanted = blocks_covering(positions);
    if (group == kv_group::sliding) wanted = std::min(wanted, window_blocks());
    const auto have = static_cast<std::uint32_t>(mine.blocks.size());
    missing[index_of(group)] =
        wanted - std::min(wanted, have) + (must_copy(group, mine, computed) ? 1 : 0);
  }
  return missing;
}

block_need block_manager::missing_for_row(const sequence_blocks& held,
                                          std::uint32_t position) const {
  block_need missing{};
  for (const auto group : all_kv_groups) {
    const auto& mine = held.groups[index_of(group)];
    const bool has_block = position / config_.block_size < mine.end_block();
    missing[index_of(group)] = !has_block || must_copy(group, mine, position) ? 1 : 0;
  }
  return missing;
}

block_need block_manager::available() const {
  return {pools_[0].available(), pools_[1].available()};
}

per_group<block_counts> block_manager::counts() const {
  return {pools_[0].counts(), pools_[1].counts()};
}

std::uint32_t block_manager::first_visible_block(kv_group group, std::uint32_t position) const {
  if (group == kv_group::full || position < config_.window) return 0;
  return (position - config_.window + 1) / config_.block_size;
}

bool block_manager::must_copy(kv_group group, const group_blocks& held,
                              std::uint32_t position) const {
  const auto block = position / config_.block_size;
  if (block >= held.end_block()) return false;
  GLIMMER_ASSERT(block >= held.first_block, "a row is never written behind the window");
  return pool(group).references(held.blocks[block - held.first_block]) > 1;
}

std::uint32_t block_manager::rows_backed(const sequence_blocks& held, std::uint32_t position,
                                         std::size_t rows, block_need spared) const {
  auto backed = static_cast<std::uint64_t>(rows);
  for (const auto group : all_kv_groups) {
    const auto& mine = held.groups[index_of(group)];
    std::uint64_t left = pool(group).available();
    left -= std::min<std::uint64_t>(left, spared[index_of(group)]);
    if (must_copy(group, mine, position)) {
      if (left == 0) return 0;
      --left;
    }
    const auto end = (std::max(mine.end_block(), position / config_.block_size) + left) *
                     std::uint64_t{config_.block_size};
    backed = std::min(backed, end - position);
  }
  return static_cast<std::uint32_t>(backed);
}

void block_manager::extend(sequence_blocks& held, std::uint32_t position, std::size_t rows,
                           std::vector<kv_block_copy>& copies) {
  for (const auto group : all_kv_groups) {
    auto& mine = held.groups[index_of(group)];
    auto& pool = pools_[index_of(group)];
    if (must_copy(group, mine, position)) {
      auto& entry = mine.blocks[position / config_.block_size - mine.first_block];
      const auto own = pool.take().id;
      copies.push_back({.group = group, .from = entry, .to = own});
      release(group, entry);
      entry = own;
    }
    if (mine.blocks.empty()) mine.first_block = position / config_.block_size;
    for (const auto end = blocks_covering(position + rows); mine.end_block() < end;) {
      mine.blocks.push_back(pool.take().id);
    }
  }
}

void block_manager::release(kv_group group, block_id id) {
  pools_[index_of(group)].release(id, retention::none);
}

void block_manager::release_passed(sequence_blocks& held, std::uint32_t next_position) {
  auto& mine = held.groups[index_of(kv_group::sliding)];
  const auto first = first_visible_block(kv_group::sliding, next_position);
  if (first <= mine.first_block) return;
  const auto passed = std::min<std::size_t>(first - mine.first_block, mine.blocks.size());
  for (std::size_t i = 0; i < passed; ++i) release(kv_group::sliding, mine.blocks[i]);
  mine.blocks.erase(mine.blocks.begin(), mine.blocks.begin() + static_cast<std::ptrdiff_t>(passed));
  mine.first_block += static_cast<std::uint32_t>(passed);
}

// Deepest first: of one sequence's blocks the front ones are the most useful to others.
void block_manager::release_all(sequence_blocks& held) {
  for (const auto group : all_kv_groups) {
    auto& mine = held.groups[index_of(group)];
    for (; !mine.blocks.empty(); mine.blocks.pop_back()) release(group, mine.blocks.back());
    mine.first_block = 0;
  }
}

void block_manager::fork(const sequence_blocks& from, sequence_blocks& to,
                         std::uint32_t positions) {
  GLIMMER_ASSERT(to.empty(), "a fork starts without blocks of its own");
  for (const auto group : all_kv_groups) {
    const auto& theirs = from.groups[index_of(group)];
    auto& mine = to.groups[index_of(group)];
    const auto end = std::min(blocks_covering(positions), theirs.end_block());
    mine.first_block = theirs.first_block;
    for (auto block = theirs.first_block; block < end; ++block) {
      mine.blocks.push_back(theirs.blocks[block - theirs.first_block]);
      pools_[index_of(group)].share(mine.blocks.back());
    }
  }
  release_passed(to, positions);
}

}  // namespace glimmer
