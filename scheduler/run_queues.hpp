#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "scheduler/sequence.hpp"

namespace glimmer {

/// Compares by queue_key, which is unique.
struct served_before {
  using is_transparent = void;
  bool operator()(const sequence* a, const sequence* b) const { return a->key < b->key; }
};

/// Compares by the time of parking.
struct parked_before {
  bool operator()(const sequence* a, const sequence* b) const {
    return std::pair{a->parked_since, a->key} < std::pair{b->parked_since, b->key};
  }
};

/// Which living sequence stands in which line. Owns no sequence; sets their `state`. Logarithmic
/// in the length of a line, so ten thousand waiting sequences cost a step nothing.
class run_queues {
 public:
  using line = std::set<sequence*, served_before>;

  /// Each moves a sequence from where it stands; a new one stands nowhere.
  void follow(sequence& s, sequence& leader);
  void wait(sequence& s);
  void run(sequence& s);
  void park(sequence& s, time_point now);
  void leave(sequence& s);

  /// The blocks of a waiting or parked sequence were taken: it is no victim any more.
  void blocks_taken(sequence& s) { resting_.erase(&s); }

  /// Run slots in use, in order of service. Invalidated by any move.
  std::span<sequence* const> running() const { return running_; }
  const line& waiting() const { return waiting_; }
  const std::set<sequence*, parked_before>& parked() const { return parked_; }
  const line& resting() const { return resting_; }
  std::uint32_t following() const { return following_; }

  /// Whose blocks to take so that `needy` can go on: parked sequences first, then whoever comes
  /// after `needy`, the last first. Nothing when nobody else must yield.
  sequence* victim_for(const sequence& needy) const;
  /// The parked sequence that arrived last among those that hold blocks.
  sequence* parked_victim() const;
  /// As victim_for, but whoever holds blocks without a run slot must yield, in any order.
  sequence* resting_victim_for(const sequence& needy) const;

 private:
  std::vector<sequence*> running_;  // sorted by key
  line waiting_;
  std::set<sequence*, parked_before> parked_;
  line resting_;  // waiting or parked, and holding blocks
  std::uint32_t following_ = 0;
};

}  // namespace glimmer
