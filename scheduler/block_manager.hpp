#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/kv_group.hpp"
#include "scheduler/block_pool.hpp"
#include "scheduler/step.hpp"

namespace glimmer {

/// One value per KV group.
template <class T>
using per_group = std::array<T, kv_group_count>;

inline constexpr std::array all_kv_groups = {kv_group::full, kv_group::sliding};
constexpr std::size_t index_of(kv_group group) {
  return static_cast<std::size_t>(group);
}

/// Blocks wanted of each pool.
using block_need = per_group<std::uint32_t>;

/// The blocks one sequence uses in one group: entry i holds positions
/// [(first_block + i) * block_size, + block_size).
struct group_blocks {
  std::vector<block_id> blocks;
  std::uint32_t first_block = 0;
  std::uint32_t end_block() const {
    return first_block + static_cast<std::uint32_t>(blocks.size());
  }
};

/// All blocks one sequence uses. Plain data; only the block manager changes it.
struct sequence_blocks {
  per_group<group_blocks> groups;
  bool empty() const { return groups[0].blocks.empty() && groups[1].blocks.empty(); }
};

struct block_manager_config {
  std::uint32_t block_size = 16;
  std::uint32_t window = 2048;  ///< keys a sliding query sees, itself included
  per_group<std::uint32_t> blocks{};
};

/// Block tables of all sequences over the pools of both groups.
///
///     full      [ 0 ........................ computed ......... rows of the step )
///     sliding        [ window of the next query ... computed .. rows of the step )
///
/// A block that several sequences use is never written: the writer gets a copy first. Refuses
/// nothing by itself: callers ask `rows_backed`, and preempt somebody when it is too few. A chunk
/// of n rows holds sliding blocks for n + window - 1 positions until its step has returned.
class block_manager {
 public:
  explicit block_manager(const block_manager_config& config);

  /// Positions a sequence can hold when it has the pools for itself.
  std::uint64_t positions_max() const;
  /// Blocks per group that could be taken now.
  block_need available() const;
  per_group<block_counts> counts() const;

  /// Blocks still to be taken per group until a sequence that has computed `computed` positions
  /// holds `positions` of them, copies included.
  block_need missing(const sequence_blocks& held, std::uint32_t computed,
                     std::uint64_t positions) const;
  /// Blocks that must be taken, one per group at most, before the row at `position` is written.
  block_need missing_for_row(const sequence_blocks& held, std::uint32_t position) const;
  /// How many of the rows from `position` on can be written with the blocks available now, if
  /// `spared` blocks per group are left for others.
  std::uint32_t rows_backed(const sequence_blocks& held, std::uint32_t position, std::size_t rows,
                            block_need spared = {}) const;
  /// Takes blocks for `rows` rows from `position` on; what must be copied first is appended to
  /// `copies`. Pre: rows_backed(held, position, rows) == rows.
  void extend(sequence_blocks& held, std::uint32_t position, std::size_t rows,
              std::vector<kv_block_copy>& copies);

  /// Lets go of sliding blocks that no query from `next_position` on can see.
  void release_passed(sequence_blocks& held, std::uint32_t next_position);
  void release_all(sequence_blocks& held);

  /// Gives `to`, which holds nothing, a share of the blocks that hold the first `positions`
  /// positions of `from`.
  void fork(const sequence_blocks& from, sequence_blocks& to, std::uint32_t positions);

  const block_pool& pool(kv_group group) const { return pools_[index_of(group)]; }
  std::uint32_t block_size() const { return config_.block_size; }
  /// First block that the query at `position` sees in this group.
  std::uint32_t first_visible_block(kv_group group, std::uint32_t position) const;

 private:
  std::uint32_t blocks_covering(std::uint64_t positions) const;
  std::uint32_t window_blocks() const;
  bool must_copy(kv_group group, const group_blocks& held, std::uint32_t position) const;
  void release(kv_group group, block_id id);

  block_manager_config config_;
  per_group<block_pool> pools_;
};

}  // namespace glimmer
