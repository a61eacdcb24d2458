#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"
#include "base/ids.hpp"

namespace glimmer {

/// Tokens a head of block 16 proposes at most: its first row is the anchor.
inline constexpr std::uint32_t draft_tokens_max = 15;

/// What the scheduler must know about drafting; fixed for its life.
struct drafting_config {
  std::uint32_t tokens_max = 0;  ///< proposals per sequence and step; 0: no drafting
  /// Choose how many by what steps were measured to take; else as many as there is room for.
  bool adaptive = true;
  std::uint32_t verify_rows_max = 0;  ///< rows of one step whose logits fit; at least max_num_seqs
  token_id vocab_size = 0;            ///< proposals lie below; what does not is dropped
  /// Longest wait for proposals, or four times the step before them: then decoding goes on without.
  duration wait_max = std::chrono::seconds{1};
  /// Tokens per verified block, at least 1, below which somebody should be told.
  double acceptance_floor = 1.05;
};

/// Counts of drafting, which only grow, and what it is like now.
struct drafting_stats {
  using per_position = std::array<std::uint64_t, draft_tokens_max>;

  bool configured = false;
  double acceptance_floor = 0;    ///< as configured
  bool present = false;           ///< a drafter is there and answers
  std::uint32_t tokens_now = 0;   ///< proposals asked for per sequence, in the last draft plan
  std::uint64_t rounds = 0;       ///< blocks verified: one per sequence and step with drafts
  std::uint64_t full_rounds = 0;  ///< of those, all drafts accepted
  std::uint64_t drafted = 0;      ///< proposals verified
  std::uint64_t accepted = 0;     ///< of those, the target's own tokens
  /// Tokens sampled behind the end of their sequence: never billed.
  std::uint64_t discarded = 0;
  per_position drafted_at{};   ///< rounds that drafted at least [i] + 1 tokens
  per_position accepted_at{};  ///< rounds that accepted at least [i] + 1 tokens
  /// Blocks verified by their number of drafts; [0] counts sampled rows without any.
  std::array<std::uint64_t, draft_tokens_max + 1> lengths{};

  std::uint64_t plans = 0;            ///< asked of the drafter
  std::uint64_t plans_given_up = 0;   ///< of those, not answered, or too late
  std::uint64_t without_context = 0;  ///< blocks drafted with part of their window unknown
  duration draft_time{};              ///< waited for proposals
  duration verify_time{};             ///< of steps that verified any
};

}  // namespace glimmer
