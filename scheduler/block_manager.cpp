#include "scheduler/block_manager.hpp"

#include <algorithm>
#include <limits>

#include "base/assert.hpp"

namespace glimmer {

block_manager::block_manager(const block_manager_config& config)
    : config_{config},
      pools_{block_pool{config.blocks[index_of(kv_group::full)]},
             block_pool{config.blocks[index_of(kv_group::sliding)]}},
      tree_{{.block_size = config.block_size, .blocks = config.blocks}},
      head_rows_{{.block_size = config.block_size,
                  .blocks = config.blocks[index_of(kv_group::sliding)]}} {}

std::uint32_t block_manager::blocks_covering(std::uint64_t positions) const {
  return static_cast<std::uint32_t>((positions + config_.block_size - 1) / config_.block_size);
}

// Blocks that `window` consecutive positions touch at the worst alignment.
std::uint32_t block_manager::window_blocks() const {
  return blocks_covering(config_.window - 1) + 1;
}

// And those that the drafts behind them touch, if the pool has so many at all: drafts only take
// what is there.
std::uint32_t block_manager::drafting_blocks() const {
  const auto wanted = blocks_covering(config_.window - 1 + config_.look_ahead) + 1;
  return std::min(wanted, std::max(window_blocks(), config_.blocks[index_of(kv_group::sliding)]));
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
    if (group == kv_group::sliding) wanted = std::min(wanted, drafting_blocks());
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
    if (must_copy(group, mine, position)) {
      auto& entry = mine.blocks[position / config_.block_size - mine.first_block];
      const auto own = take(group);
      copies.push_back({.group = group, .from = entry, .to = own});
      if (group == kv_group::sliding) head_rows_.copy({.from = entry, .to = own});
      release(group, entry, retention::lasting);
      entry = own;
    }
    if (mine.blocks.empty()) mine.first_block = position / config_.block_size;
    for (const auto end = blocks_covering(position + rows); mine.end_block() < end;) {
      mine.blocks.push_back(take(group));
    }
  }
}

block_id block_manager::take(kv_group group) {
  const auto taken = pools_[index_of(group)].take();
  if (taken.evicted) tree_.forget(group, taken.id);
  if (group == kv_group::sliding) head_rows_.clear(taken.id);
  return taken.id;
}

// Contents that the tree does not know can never be found again.
void block_manager::release(kv_group group, block_id id, retention keep) {
  pools_[index_of(group)].release(id, tree_.knows(group, id) ? keep : retention::none);
}

// The next turn repeats the prompt but for its last few tokens, so it goes on a block or two
// before the prompt's end; what it needs there is one window.
retention block_manager::retention_of(kv_group group, const sequence_blocks& held,
                                      std::uint32_t block) const {
  if (group == kv_group::full) return retention::lasting;
  const auto size = std::uint64_t{config_.block_size};
  const bool near_end = (block + 3) * size + config_.window > held.turn_end;
  return near_end && block * size < held.turn_end ? retention::lasting : retention::passing;
}

void block_manager::release_passed(sequence_blocks& held, std::uint32_t next_position) {
  auto& mine = held.groups[index_of(kv_group::sliding)];
  const auto first = first_visible_block(kv_group::sliding, next_position);
  if (first <= mine.first_block) return;
  const auto passed = std::min<std::size_t>(first - mine.first_block, mine.blocks.size());
  for (std::size_t i = 0; i < passed; ++i) {
    const auto keep = retention_of(kv_group::sliding, held, mine.first_block++);
    release(kv_group::sliding, mine.blocks[i], keep);
  }
  mine.blocks.erase(mine.blocks.begin(), mine.blocks.begin() + static_cast<std::ptrdiff_t>(passed));
}

// Deepest first: a block is of no use without those before it, so it must be evicted sooner.
void block_manager::release_all(sequence_blocks& held) {
  for (const auto group : all_kv_groups) {
    auto& mine = held.groups[index_of(group)];
    for (; !mine.blocks.empty(); mine.blocks.pop_back()) {
      release(group, mine.blocks.back(), retention::lasting);
    }
    mine.first_block = 0;
  }
  held.remembered = 0;
  held.prefix = no_prefix;
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

// --- Prefix cache --------------------------------------------------------------------------

prefix_hit block_manager::find_prefix(const token_view& tokens, const std::string& salt) const {
  prefix_hit hit;
  if (!config_.prefix_caching) return hit;
  const auto size = config_.block_size;
  const auto blocks_max = static_cast<std::uint32_t>((tokens.size() - 1) / size);
  std::vector<token_id> scratch;
  std::uint32_t windowed = 0;  // consecutive sliding blocks that end here
  auto node = no_prefix;
  for (std::uint32_t block = 0; block < blocks_max; ++block) {
    node = tree_.find(node, salt, tokens.read({std::size_t{block} * size, size}, scratch));
    if (node == no_prefix || !tree_.block(node, kv_group::full)) break;
    hit.nodes.push_back(node);
    windowed = tree_.block(node, kv_group::sliding) ? windowed + 1 : 0;
    const auto first = first_visible_block(kv_group::sliding, (block + 1) * size);
    if (windowed < block + 1 - first) continue;
    hit.blocks = block + 1;
    hit.first_sliding = first;
  }
  hit.nodes.resize(hit.blocks);
  for (std::uint32_t block = 0; block < hit.blocks; ++block) {
    for (const auto group : all_kv_groups) {
      if (group == kv_group::sliding && block < hit.first_sliding) continue;
      const auto id = *tree_.block(hit.nodes[block], group);
      hit.revived[index_of(group)] += pool(group).is_cached(id);
    }
  }
  return hit;
}

block_need block_manager::missing_after(const prefix_hit& hit, std::uint64_t positions) const {
  const auto all = blocks_covering(positions);
  const auto in_window = std::min(all, drafting_blocks());
  const auto sliding = hit.blocks - hit.first_sliding;
  return {all - std::min(all, hit.blocks) + hit.revived[0],
          in_window - std::min(in_window, sliding) + hit.revived[1]};
}

void block_manager::adopt(sequence_blocks& held, const prefix_hit& hit) {
  GLIMMER_ASSERT(held.empty(), "a prefix is taken up by a sequence that holds nothing");
  if (hit.blocks == 0) return;
  for (const auto group : all_kv_groups) {
    auto& mine = held.groups[index_of(group)];
    mine.first_block = group == kv_group::sliding ? hit.first_sliding : 0;
    for (auto block = mine.first_block; block < hit.blocks; ++block) {
      mine.blocks.push_back(*tree_.block(hit.nodes[block], group));
      pools_[index_of(group)].share(mine.blocks.back());
    }
  }
  held.remembered = hit.blocks;
  held.prefix = hit.nodes.back();
}

void block_manager::remember(sequence_blocks& held, const token_view& tokens,
                             const std::string& salt, std::uint32_t computed) {
  if (!config_.prefix_caching) return;
  const auto size = config_.block_size;
  std::vector<token_id> scratch;
  for (; held.remembered < computed / size; ++held.remembered) {
    const auto block = held.remembered;
    held.prefix =
        tree_.reach(held.prefix, salt, tokens.read({std::size_t{block} * size, size}, scratch));
    for (const auto group : all_kv_groups) {
      auto& mine = held.groups[index_of(group)];
      if (block < mine.first_block) continue;
      exchange_known(group, held.prefix, mine.blocks[block - mine.first_block]);
    }
  }
}

void block_manager::exchange_known(kv_group group, prefix_node node, block_id& entry) {
  const auto known = tree_.block(node, group);
  if (!known) return tree_.set_block(node, group, entry);
  if (*known == entry) return;
  // A block that was filled without the draft head is of less use than one filled with it.
  if (group == kv_group::sliding && head_rows_.count(entry) > head_rows_.count(*known)) {
    const auto lesser = *known;
    tree_.forget(group, lesser);
    if (pool(group).is_cached(lesser)) pools_[index_of(group)].forget(lesser);
    return tree_.set_block(node, group, entry);
  }
  pools_[index_of(group)].share(*known);
  release(group, entry, retention::none);
  entry = *known;
}

// --- Draft head ----------------------------------------------------------------------------

void block_manager::note_head_rows(const sequence_blocks& held, row_run positions) {
  head_rows_.note(held.groups[index_of(kv_group::sliding)], positions);
}

std::uint32_t block_manager::head_rows_from(const sequence_blocks& held, std::uint32_t end) const {
  return head_rows_.first_of_run(held.groups[index_of(kv_group::sliding)], end);
}

void block_manager::forget_unused() {
  for (const auto group : all_kv_groups) {
    auto& pool = pools_[index_of(group)];
    for (std::uint32_t i = 0; i < pool.counts().all; ++i) {
      const auto id = static_cast<block_id>(i);
      if (!pool.is_cached(id)) continue;
      pool.forget(id);
      tree_.forget(group, id);
    }
  }
}

bool block_manager::consistent() const {
  for (const auto group : all_kv_groups) {
    for (std::uint32_t i = 0; i < pool(group).counts().all; ++i) {
      const auto id = static_cast<block_id>(i);
      const bool used = pool(group).references(id) > 0;
      if (!used && pool(group).is_cached(id) != tree_.knows(group, id)) return false;
    }
  }
  return true;
}

}  // namespace glimmer
