#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "scheduler/sequence.hpp"
#include "scheduler/step.hpp"

namespace glimmer {

/// The scheduler's own note about one `sequence_rows` of a plan.
struct planned_rows {
  sequence* owner = nullptr;
  std::uint32_t row = 0;  ///< of the step: the first one
  std::uint32_t position = 0;
  std::uint32_t count = 0;
  std::uint32_t drafts = 0;
  std::uint32_t ahead = 0;
  bool sample = false;
};

/// A plan the executor works on.
struct step_in_flight {
  step_id id;
  std::vector<planned_rows> rows;  ///< as in step_plan::sequences
  time_point planned{};
  std::uint32_t streams = 0;      ///< sequences with one row left to compute
  std::uint32_t draft_rows = 0;   ///< behind the rows of streams
  std::uint32_t prompt_rows = 0;  ///< all other rows
};

/// Writes a step plan row by row. Values are copied out of the sequences; nothing of the plan
/// points back.
class step_builder {
 public:
  struct sizes {
    std::size_t sequences = 0;
    std::size_t tokens = 0;
    std::size_t blocks = 0;
  };
  /// `step` has its id and time; `like` are the sizes to expect, for which those of the step
  /// before are a good guess.
  step_builder(step_in_flight step, sizes like);

  /// The next rows of a sequence, how many of its drafts follow them, and the positions behind
  /// that its blocks hold too.
  struct extent {
    std::uint32_t count = 0;
    std::uint32_t drafts = 0;
    std::uint32_t ahead = 0;
  };
  /// Adds rows of a sequence whose blocks are already extended, and introduces it to the executor
  /// if need be. Marks the sequence; its drafts are used up, taken or not.
  void add(sequence& s, extent wanted);
  std::vector<kv_block_copy>& copies() { return plan_.copies; }

  bool empty() const { return note_.rows.empty(); }
  /// Hands out the plan, with the samplers to forget, and the note about it.
  std::pair<step_plan, step_in_flight> finish(std::vector<sequence_id> dropped);

 private:
  void introduce(sequence& s);
  block_table add_table(const group_blocks& blocks);

  step_plan plan_;
  step_in_flight note_;
};

}  // namespace glimmer
