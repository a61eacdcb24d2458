#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "scheduler/drafting.hpp"
#include "scheduler/step.hpp"
#include "scheduler/step_pace.hpp"

namespace glimmer {

/// Everything the scheduler is told about the engine; fixed for its life.
struct scheduler_config {
  std::uint32_t max_model_len = 0;           ///< prompt and output tokens of one sequence
  std::uint32_t max_num_seqs = 256;          ///< sequences in one step: the run slots
  std::uint32_t max_num_batched_tokens = 0;  ///< rows in one step, at least max_num_seqs
  std::uint32_t max_partial_prefills = 4;    ///< prompts that are computed side by side
  std::uint32_t tokens_per_step_max = 1;     ///< that the device samples of one sequence at most

  step_pace_config pace;  ///< bounds of a step in time, beside those in rows
  drafting_config drafting;

  std::uint32_t block_size = 16;  ///< positions per block, the same in every group
  std::array<std::uint32_t, kv_group_count> blocks{};  ///< pool size per KV group, in blocks
  std::uint32_t window = 2048;  ///< keys a sliding query sees, itself included
  bool prefix_caching = false;  ///< keep computed blocks for later prompts

  std::uint64_t queued_tokens_max = 4 << 20;   ///< prompt tokens that wait for their first step
  std::uint32_t queued_sequences_max = 65536;  ///< sequences that wait for their first step
  duration parked_max = std::chrono::seconds{120};  ///< a parked sequence is cancelled after this

  std::vector<token_id> end_tokens;  ///< the model's own (eos, eot); `ignore_eos` disables them
};

/// The first reason why these numbers cannot work, with the numbers.
result<void> check(const scheduler_config& config);

}  // namespace glimmer
