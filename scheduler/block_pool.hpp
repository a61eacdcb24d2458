#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "scheduler/scheduler_stats.hpp"

namespace glimmer {

/// What becomes of a block when its last user lets go.
enum class retention : std::uint8_t {
  none,     ///< free: the contents are worthless
  passing,  ///< cached, the first to be evicted
  lasting,  ///< cached, evicted when nothing passing is left
};

/// The block ids of one KV group: who is free, who is used by how many, who is kept as cache.
///
///     free ──take──> used ──release──> free | cached ──share──> used
///                                             └──take (evicts)──> used
///
/// Every operation is O(1). Ids are handed out in a fixed order, so equal calls give equal plans.
class block_pool {
 public:
  explicit block_pool(std::uint32_t blocks);

  struct taken_block {
    block_id id = 0;
    bool evicted = false;  ///< it was cached: whoever knew its contents must forget them
  };

  /// A block for one user: a free one, else the cached one that was released longest ago.
  /// Pre: available() > 0.
  taken_block take();
  /// One more user of a used or cached block.
  void share(block_id id);
  /// One user less; the last one decides about the contents.
  void release(block_id id, retention keep);
  /// A cached block becomes free.
  void forget(block_id id);

  std::uint32_t references(block_id id) const { return slots_[index(id)].references; }
  bool is_cached(block_id id) const { return slots_[index(id)].where == place::cached; }
  /// Blocks `take` can give.
  std::uint32_t available() const { return free_count() + cached_count_; }
  block_counts counts() const;
  /// Links and counters agree with the slots; linear, for the books.
  bool consistent() const;

 private:
  enum class place : std::uint8_t { free, used, cached };
  struct slot {
    std::uint32_t references = 0;
    place where = place::free;
    std::uint32_t older = 0;  // neighbours in the age list of the cached
    std::uint32_t newer = 0;
  };

  static std::uint32_t index(block_id id) { return static_cast<std::uint32_t>(id); }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t list_head(retention keep) const;
  void link_newest(std::uint32_t slot_index, retention keep);
  void unlink(std::uint32_t slot_index);
  std::uint32_t oldest_cached() const;

  std::uint32_t count_;
  std::vector<slot> slots_;     // one per block, then the heads of the two age lists
  std::vector<block_id> free_;  // used as a stack
  std::uint32_t cached_count_ = 0;
};

}  // namespace glimmer
