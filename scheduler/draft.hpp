#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "scheduler/step.hpp"

namespace glimmer {

/// One sequence's part of a draft plan. Its last step computed rows for positions
/// [position, position + count) that are now committed; the token behind them is the anchor.
///
///     step's rows   | position ... position + count - 1 | rejected drafts (never looked at)
///     the block                                          anchor, mask, mask, ...
///
/// The head keeps its context rows in the blocks of the sliding group, beside the target's keys.
struct draft_rows {
  sequence_id id;
  std::uint32_t row = 0;       ///< of the step: where this sequence's first row was
  std::uint32_t count = 0;     ///< committed rows to write context rows for; may be 0
  std::uint32_t position = 0;  ///< absolute position of the first one
  /// Context positions before this one hold no rows of the head (a cached prefix that was filled
  /// without it, blocks that have left the window): they are masked, never read.
  std::uint32_t valid_from = 0;
  token_id anchor = 0;       ///< the token at position + count
  std::uint32_t drafts = 0;  ///< proposals wanted; 0 writes context rows only (a prompt's chunk)
  block_table table;         ///< sliding group, into draft_plan::blocks
};

/// What the draft head is to do between two steps: plain values.
struct draft_plan {
  step_id id;  ///< of the step whose residuals the executor holds
  std::vector<draft_rows> sequences;
  std::vector<block_id> blocks;
};

/// Proposals for one sequence: exactly as many as asked for.
struct sequence_drafts {
  sequence_id id;
  std::vector<token_id> tokens;
};

/// The answer to one draft plan: every sequence with `drafts > 0` occurs once, in order.
struct draft_result {
  step_id id;
  std::vector<sequence_drafts> sequences;
};

}  // namespace glimmer
