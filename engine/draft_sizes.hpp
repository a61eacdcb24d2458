#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine_settings.hpp"

namespace glimmer {

/// How much drafting there is room for.
struct draft_sizes {
  std::uint32_t tokens_max = 0;    ///< per sequence and step, no more than the head was made for
  std::uint32_t verify_rows = 0;   ///< of one step, whose logits must fit
  std::vector<std::string> notes;  ///< what was cut, and why
};

/// Rows whose logits are made at once at most: 200,000 floats each.
inline constexpr std::uint32_t verify_rows_useful = 512;

/// `head_tokens_max`: what the head proposes at most, one less than its block.
///
///     tokens        min(settings, head)
///     verify rows   max_num_seqs * (tokens + 1), but no more than a step has rows, nor than are
///                   useful; one per sequence at least
///
/// Buffers follow from these two, never from max_num_batched_tokens alone: each of max_num_seqs
/// sequences may bring its whole block in one step.
draft_sizes draft_sizes_of(const engine_settings& settings, std::uint32_t head_tokens_max);

}  // namespace glimmer
