#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/draft_runner.hpp"
#include "executor/executor.hpp"
#include "gpu/cpu/cpu_device.hpp"

namespace glimmer {

/// One token stream of the rig. Tokens [0, computed) have keys in the target and rows in the head;
/// when it has been sampled from, tokens[computed] is the anchor.
struct drafted_sequence {
  std::vector<token_id> tokens;
  std::int64_t computed = 0;
  std::int64_t valid_from = 0;
  std::vector<token_id> proposed;                           ///< by the last step
  std::size_t prompt = 0;                                   ///< set when it starts
  std::uint64_t id = 0;                                     ///< likewise
  std::array<std::deque<block_id>, kv_group_count> blocks;  ///< in use, oldest first
  std::int64_t left = 0;                                    ///< sliding blocks that left the window
};

/// A real executor on tiny and a real head beside it, driven by hand: the scheduler's part without
/// a scheduler. Caches start as NaN; blocks are used again in the order in which they came back.
class draft_rig {
 public:
  struct options {
    std::string head = "tiny-head";
    dtype type = dtype::f32;
    std::int64_t block_size = 8;
    kv_block_counts blocks{300, 300};
  };
  explicit draft_rig(const options& o);

  /// What one step does for a sequence.
  struct work {
    drafted_sequence* sequence = nullptr;
    std::int64_t count = 1;          ///< known tokens to compute
    std::vector<token_id> drafts{};  ///< to verify behind them
    std::uint32_t wanted = 0;        ///< proposals for the next step
  };
  /// Runs the executor, commits what it accepted, and then the head.
  void step(std::span<const work> all);
  void step(const work& one) { step({&one, 1}); }
  /// Computes a prompt in chunks; its last step samples and asks for proposals.
  void prefill(drafted_sequence& s, std::int64_t chunk, std::uint32_t wanted);

  /// A sequence over the same tokens that begins behind `positions` tokens in the other's blocks;
  /// a last block that is not full is copied in its first step.
  drafted_sequence fork(const drafted_sequence& s, std::int64_t positions);
  /// Off: steps run, the head does not.
  void set_drafting(bool on) { drafting_ = on; }
  /// Gives a sequence's blocks back.
  void finish(drafted_sequence& s);

  /// Keys and values of the head's layers for every position that a next block can see.
  std::vector<float> context_rows(const drafted_sequence& s);
  /// The same for one position.
  std::vector<float> row_at(const drafted_sequence& s, std::int64_t position);

  const draft_head_config& config() const { return config_; }

 private:
  void poison();
  void reserve(drafted_sequence& s, std::int64_t positions);
  void leave_window(drafted_sequence& s);
  step_plan plan_of(std::span<const work> all);
  draft_rows commit(const work& w, const sequence_rows& rows, const sequence_tokens& got);

  options options_;
  draft_head_config config_;
  std::int64_t retained_ = 0;  // positions that a sliding block is kept for
  std::unique_ptr<device> home_;
  std::optional<executor> steps_;
  std::optional<draft_runner> head_;
  std::array<std::deque<block_id>, kv_group_count> free_;
  std::vector<kv_block_copy> copies_;  // of the next step
  bool drafting_ = true;
  std::uint64_t next_step_ = 1;
  std::uint64_t next_id_ = 1;
};

}  // namespace glimmer
