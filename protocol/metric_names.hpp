#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace glimmer {

/// Every metric the server can tell; `metric_names.cpp` holds the names and buckets. The first
/// group carries vLLM's names and meanings, so that its dashboards read ours.
enum class metric : std::uint8_t {
  // gauges
  requests_running,
  requests_waiting,
  kv_cache_usage,     ///< 0 ... 1
  cache_config_info,  ///< value 1; labels block_size, num_gpu_blocks, ...
  engine_healthy,
  // counters
  prompt_tokens,
  generation_tokens,
  prompt_tokens_by_source,  ///< source
  prefix_cache_queries,
  prefix_cache_hits,
  preemptions,
  request_success,  ///< finished_reason
  drafts,
  draft_tokens,
  draft_tokens_accepted,
  draft_tokens_accepted_per_position,  ///< position
  // histograms
  time_to_first_token,
  inter_token_latency,
  time_per_output_token,
  e2e_latency,
  queue_time,
  prefill_time,
  decode_time,
  inference_time,
  iteration_tokens,
  request_prompt_tokens,
  request_generation_tokens,
  request_params_max_tokens,
  request_params_n,
  // the HTTP layer
  http_requests,          ///< method, status ("2xx"), handler
  http_request_duration,  ///< method, handler
  // our own
  actor_mailbox_depth,  ///< actor, index
  tokenize_seconds,
  render_seconds,
  step_seconds,         ///< phase
  last_step_timestamp,  ///< unix seconds
  kv_blocks,            ///< state: free, active, cached
  parked_sequences,
  admission_credits,  ///< state: used, idle, pool
  reasoning_tokens,
  parser_errors,  ///< kind
  cancelled,      ///< stage, cause
  rejected,       ///< reason
  connections,
  connections_refused,
  drafts_per_position,  ///< position: what the accepted ones are to be divided by
  draft_tokens_discarded,
  draft_plans,  ///< outcome
  draft_blocks_full,
  draft_blocks_short_of_context,
  draft_seconds,  ///< phase: draft, verify
  drafter_present,
  draft_tokens_now,
  draft_length,
  count  ///< number of metrics, not one
};

enum class metric_kind : std::uint8_t { counter, gauge, histogram };

struct metric_definition {
  metric id;
  metric_kind kind;
  std::string_view name;  ///< as exposed; counters end in _total
  std::string_view help;
  std::span<const double> buckets;      ///< upper bounds, rising, without +Inf
  bool buckets_end_at_context = false;  ///< bounds above the longest sequence are left out
};

const metric_definition& definition_of(metric id);

}  // namespace glimmer
