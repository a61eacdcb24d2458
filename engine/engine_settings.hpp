#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glimmer {

/// How to draft, and with what.
struct drafter_settings {
  std::string model;              ///< folder or cached hub id of the draft head; empty: no drafting
  std::uint32_t tokens_max = 15;  ///< drafted per sequence and step; 0: no drafting
  bool adaptive = true;           ///< fewer, or none, where more do not pay
  double acceptance_floor = 1.05;  ///< tokens per block of drafts; below, the log warns
  bool wanted() const { return !model.empty() && tokens_max > 0; }
};

/// What an operator may choose. Names and meanings are vLLM's.
struct engine_settings {
  std::optional<std::uint32_t> max_model_len;  ///< absent: what the checkpoint says
  std::uint32_t max_num_seqs = 64;
  std::uint32_t max_num_batched_tokens = 2048;
  std::uint32_t block_size = 16;
  double memory_utilization = 0.9;              ///< share of the device's memory, (0, 1]
  std::optional<std::uint64_t> kv_cache_bytes;  ///< instead of what memory_utilization leaves
  /// int8 or int4: made of plain weights at load; "" or the checkpoint's own method: as stored.
  std::string quantization;
  std::string dtype = "auto";           ///< auto, bfloat16, float32: of activations and KV
  std::string kv_cache_dtype = "auto";  ///< auto (as dtype), bfloat16, fp8 or fp8_e4m3
  bool prefix_caching = true;           ///< keep computed blocks for later prompts
  std::uint32_t threads = 0;        ///< host threads of the device; 0 = one a processor (of `cpus`)
  std::vector<std::uint32_t> cpus;  ///< processors that the threads are pinned to; empty: none
  drafter_settings drafter;
};

}  // namespace glimmer
