#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "engine/engine_settings.hpp"
#include "gpu/device.hpp"
#include "model/activations.hpp"
#include "model/config.hpp"
#include "model/draft_head.hpp"
#include "model/kv_layout.hpp"
#include "model/weights.hpp"
#include "scheduler/scheduler_config.hpp"

namespace glimmer {

/// What a draft head says.
struct draft_facts {
  draft_head_config head;
  std::uint64_t weight_bytes = 0;
};

/// What model and device say.
struct engine_facts {
  text_config model;
  std::vector<token_id> end_tokens;
  load_quantization quantization = load_quantization::none;
  std::uint64_t weight_bytes = 0;    ///< device memory that the weights will take
  std::uint64_t memory_bytes = 0;    ///< of the device
  std::uint64_t free_bytes = 0;      ///< before the weights are loaded
  std::optional<draft_facts> draft;  ///< absent: no drafting
};

/// Everything derived: what the scheduler, the model and the executor are made with.
struct engine_config {
  scheduler_config scheduler;
  activation_limits activations;
  load_quantization quantization = load_quantization::none;
  kv_layout kv;
  kv_block_counts kv_blocks{};
  std::uint32_t threads = 0;          ///< as in the settings, or one for each processor named there
  std::optional<draft_limits> draft;  ///< with a draft head
  std::string summary;                ///< one sentence with the sums, for the log
  std::vector<std::string> notes;     ///< what was cut or is doubtful, and why
};

/// So many positions in blocks of so many.
struct kv_extent {
  std::int64_t positions = 0;
  std::int64_t block_size = 16;
  std::int64_t look_ahead = 0;  ///< drafts behind them
};

/// Blocks that one sequence needs at least, per group: every position in the full group; a window
/// and the blocks it and its drafts enter in the sliding group.
kv_block_counts blocks_of_sequence(const text_config& model, const kv_extent& extent);

/// Checks the settings and derives all sizes. A refusal shows its arithmetic: which sum, of what,
/// against which limit, and what to change.
///
///     KV bytes   kv_cache_bytes, or
///                min(memory_utilization * memory, free) - weights - activations - draft head
///     blocks     one sequence of max_model_len first; what is left is shared in the mix of a
///                sequence of min(max_model_len, 4 windows) tokens; never more than max_num_seqs
///                sequences can use
result<engine_config> derive_config(const engine_settings& settings, const engine_facts& facts);

}  // namespace glimmer
