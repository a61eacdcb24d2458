#include "scheduler/scheduler_config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace glimmer {

result<void> check(const scheduler_config& config) {
  if (config.max_model_len == 0) {
    return fail(bad_value("max_model_len", "max_model_len must be at least 1."));
  }
  if (config.max_num_seqs == 0) {
    return fail(bad_value("max_num_seqs", "max_num_seqs must be at least 1."));
  }
  if (config.max_num_batched_tokens < config.max_num_seqs) {
    return fail(bad_value(
        "max_num_batched_tokens",
        fmt::format("max_num_batched_tokens is {}, but a step of max_num_seqs = {} sequences has "
                    "at least as many rows.",
                    config.max_num_batched_tokens, config.max_num_seqs)));
  }
  if (config.max_partial_prefills == 0) {
    return fail(bad_value("max_partial_prefills", "max_partial_prefills must be at least 1."));
  }
  if (config.pace.decode_floor_percent > 90) {
    return fail(bad_value("decode_floor_percent",
                          fmt::format("decode_floor_percent is {}; above 90 no time is left for "
                                      "prompts.",
                                      config.pace.decode_floor_percent)));
  }
  if (config.pace.step_time_max < duration::zero()) {
    return fail(bad_value("step_time_max", "step_time_max cannot be negative."));
  }
  if (config.tokens_per_step_max == 0) {
    return fail(bad_value("tokens_per_step_max", "A step must be able to bring a token."));
  }
  if (config.drafting.tokens_max > draft_tokens_max) {
    return fail(bad_value("num_speculative_tokens",
                          fmt::format("num_speculative_tokens is {}; allowed are 0 to {}.",
                                      config.drafting.tokens_max, draft_tokens_max)));
  }
  if (config.drafting.tokens_max > 0 && config.drafting.verify_rows_max < config.max_num_seqs) {
    return fail(bad_value("max_num_seqs",
                          fmt::format("Logits of {} rows fit in a step, but max_num_seqs is {}.",
                                      config.drafting.verify_rows_max, config.max_num_seqs)));
  }
  if (config.block_size == 0) {
    return fail(bad_value("block_size", "block_size must be at least 1."));
  }
  if (config.window == 0) {
    return fail(bad_value("window", "The sliding window must hold at least one key."));
  }
  if (std::ranges::count(config.blocks, 0u) > 0) {
    return fail(bad_value("blocks", fmt::format("Each KV group needs at least one block; there "
                                                "are {} full and {} sliding ones.",
                                                config.blocks[0], config.blocks[1])));
  }
  return {};
}

}  // namespace glimmer
