#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/kv_group.hpp"
#include "scheduler/block_groups.hpp"
#include "scheduler/block_pool.hpp"
#include "scheduler/head_rows.hpp"
#include "scheduler/prefix_tree.hpp"
#include "scheduler/step.hpp"
#include "scheduler/token_view.hpp"

namespace glimmer {

/// All blocks one sequence uses. Plain data; only the block manager changes it.
struct sequence_blocks {
  per_group<group_blocks> groups;
  std::uint32_t turn_end = 0;      ///< positions of the prompt: where a later turn goes on
  std::uint32_t remembered = 0;    ///< leading blocks that the prefix tree knows
  prefix_node prefix = no_prefix;  ///< of the last of them
  bool empty() const { return groups[0].blocks.empty() && groups[1].blocks.empty(); }
};

struct block_manager_config {
  std::uint32_t block_size = 16;
  std::uint32_t window = 2048;  ///< keys a sliding query sees, itself included
  per_group<std::uint32_t> blocks{};
  bool prefix_caching = false;
  std::uint32_t look_ahead = 0;  ///< drafts a step may write behind a sequence's own rows
};

/// The longest computed prefix of some tokens that can be used without recomputing anything.
struct prefix_hit {
  std::uint32_t blocks = 0;            ///< whole blocks found
  std::vector<prefix_node> nodes;      ///< one per block
  std::uint32_t first_sliding = 0;     ///< sliding blocks [first_sliding, blocks) are wanted
  per_group<std::uint32_t> revived{};  ///< of the blocks wanted, those nobody uses now
};

/// Block tables of all sequences over the pools of both groups.
///
///     full      [ 0 ........................ computed ......... rows of the step )
///     sliding        [ window of the next query ... computed .. rows of the step )
///
/// With prefix caching, whole blocks are known by their tokens. A computed block whose tokens are
/// known already is exchanged for the known one: same tokens, same bits. Blocks that nobody uses
/// stay as cache until the pool needs them, the ones released longest ago first; sliding blocks
/// far behind their sequence go before those that end a turn, because a prefix can be taken up
/// again only where a whole window of them is left.
///
/// A block that several sequences use is never written: the writer gets a copy first. (Rows of the
/// draft head are: who shares a block shares its tokens, so they are the same.) Refuses nothing by
/// itself: callers ask `rows_backed`, and preempt somebody when it is too few. A chunk of n rows
/// holds sliding blocks for n + window - 1 positions until its step has returned.
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

  /// The longest prefix of `tokens` that is known under `salt`, short of the last token, which is
  /// always computed for its logits. Linear in the prefix.
  prefix_hit find_prefix(const token_view& tokens, const std::string& salt) const;
  /// Blocks still to be taken per group, revived ones included, until a sequence that starts
  /// with `hit` holds `positions` positions.
  block_need missing_after(const prefix_hit& hit, std::uint64_t positions) const;
  /// Gives `held`, which is empty, the blocks of a hit.
  void adopt(sequence_blocks& held, const prefix_hit& hit);
  /// Makes the whole blocks among the first `computed` positions known.
  void remember(sequence_blocks& held, const token_view& tokens, const std::string& salt,
                std::uint32_t computed);
  /// The draft head wrote its rows of these positions, which `held` covers in the sliding group.
  void note_head_rows(const sequence_blocks& held, row_run positions);
  /// First of the unbroken run of positions with head rows that ends at `end`; `end` if none does.
  std::uint32_t head_rows_from(const sequence_blocks& held, std::uint32_t end) const;
  /// All contents that nobody uses are given up.
  void forget_unused();
  /// Free blocks are unknown, cached ones known; linear, for the books.
  bool consistent() const;

  const block_pool& pool(kv_group group) const { return pools_[index_of(group)]; }
  std::uint32_t block_size() const { return config_.block_size; }
  /// First block that the query at `position` sees in this group.
  std::uint32_t first_visible_block(kv_group group, std::uint32_t position) const;

 private:
  std::uint32_t blocks_covering(std::uint64_t positions) const;
  std::uint32_t window_blocks() const;
  std::uint32_t drafting_blocks() const;
  bool must_copy(kv_group group, const group_blocks& held, std::uint32_t position) const;
  block_id take(kv_group group);
  void release(kv_group group, block_id id, retention keep);
  retention retention_of(kv_group group, const sequence_blocks& held, std::uint32_t block) const;
  void exchange_known(kv_group group, prefix_node node, block_id& entry);

  block_manager_config config_;
  per_group<block_pool> pools_;
  prefix_tree tree_;
  head_rows head_rows_;
};

}  // namespace glimmer
