#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/events.hpp"
#include "base/ids.hpp"
#include "base/kv_group.hpp"
#include "base/sampling_params.hpp"

namespace glimmer {

/// A run of `step_plan::blocks`: the block table of one sequence in one group. Entry 0 holds the
/// keys of positions `first_block * block_size ...`; blocks before it have left the window.
struct block_table {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
  std::uint32_t first_block = 0;
};

/// What the executor must know of a sequence before its first rows arrive. The choices of one
/// request after the first start with blocks that hold the prompt but for its last token, which
/// each of them computes (to the same bits) and samples from.
struct sequence_start {
  sequence_id id;
  std::shared_ptr<const sampling_params> params;
  std::shared_ptr<const std::vector<token_id>> prompt;  ///< for penalties and prompt logprobs
  /// Output tokens already sampled (a preempted sequence that comes back): penalties need them,
  /// and the next token has output index `output.size()`.
  std::vector<token_id> output;
};

/// One sequence's rows in a step: positions [position, position + count).
///
///     tokens of the sequence   [ computed earlier | rows of this step | not yet computed ]
///                                       position ^                  ^ position + count
struct sequence_rows {
  sequence_id id;
  std::uint32_t token_begin = 0;  ///< into step_plan::tokens
  std::uint32_t count = 0;
  std::uint32_t position = 0;
  bool sample = false;       ///< the last row (and with drafts, the rows before) yield tokens
  std::uint32_t drafts = 0;  ///< the last `drafts` tokens are proposals to verify
  /// With `sample`: positions behind the last row that the tables hold too. A device that samples
  /// several tokens in one step computes all but the last of them there by itself.
  std::uint32_t ahead = 0;
  block_table tables[kv_group_count];
};

/// Copies one block before the forward pass: a fork writes into its own copy of a partial block.
/// The copies of a plan take effect one after the other, in order.
struct kv_block_copy {
  kv_group group = kv_group::full;
  block_id from = 0;
  block_id to = 0;
};

/// One step for the executor: plain values, no pointer into the scheduler.
struct step_plan {
  step_id id;
  std::vector<sequence_start> started;
  std::vector<sequence_id> dropped;  ///< forget their samplers; before `started` in effect
  std::vector<kv_block_copy> copies;
  std::vector<sequence_rows> sequences;
  std::vector<token_id> tokens;  ///< of all rows, sequence by sequence
  std::vector<block_id> blocks;  ///< all block tables, one after the other
};

/// Tokens one sequence got from a step, oldest first: none while its prompt is being computed,
/// one when decoding, up to drafts + 1 + ahead at most. None although `sample` was set asks for
/// the last row again.
struct sequence_tokens {
  sequence_id id;
  std::vector<token_id> tokens;
  std::vector<token_logprob> logprobs;  ///< per token, when asked for
  /// When asked for: the row at position p tells about prompt token p + 1, so entry i is about
  /// token `position + 1 + i`; the prompt's last row has none. A replayed row may tell again.
  std::vector<token_logprob> prompt_logprobs;
  bool failed = false;  ///< its logits were not finite: no token, the sequence ends as `error`
};

/// The executor's answer to one plan; every sequence of the plan occurs once.
struct step_result {
  step_id id;
  std::vector<sequence_tokens> sequences;
};

}  // namespace glimmer
