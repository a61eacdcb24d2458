#include "protocol/metric_names.hpp"

#include <array>

#include "base/assert.hpp"

namespace glimmer {
namespace {

using enum metric_kind;

constexpr std::array first_token_seconds = {.001, .005, .01, .02,  .04,  .06,  .08, .1,
                                            .25,  .5,   .75, 1.,   2.5,  5.,   7.5, 10.,
                                            20.,  40.,  80., 160., 640., 2560.};
constexpr std::array token_gap_seconds = {.01, .025, .05, .075, .1,  .15, .2,  .3,  .4, .5,
                                          .75, 1.,   2.5, 5.,   7.5, 10., 20., 40., 80.};
constexpr std::array request_seconds = {.3,  .5,   .8,   1.,   1.5,  2.,    2.5,
                                        5.,  10.,  15.,  20.,  30.,  40.,   50.,
                                        60., 120., 240., 480., 960., 1920., 7680.};
constexpr std::array tokens_per_step = {1.,   8.,    16.,   32.,   64.,   128.,  256.,
                                        512., 1024., 2048., 4096., 8192., 16384.};
constexpr std::array choices_per_request = {1., 2., 5., 10., 20.};
constexpr std::array draft_lengths = {0., 1., 2., 3., 4., 6., 8., 11., 15.};
/// 1, 2, 5, 10, ... as far as any context reaches.
constexpr std::array token_counts = {1.,  2.,  5.,  10., 20., 50., 100., 200., 500., 1e3, 2e3,
                                     5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5,  1e6,  2e6,  5e6, 1e7};
constexpr std::array http_seconds = {.1, .5, 1.};
/// A CPU's small step and a GPU's speculative burst both lie below vLLM's smallest buckets.
constexpr std::array fine_seconds = {.0001, .00025, .0005, .001, .0025, .005, .01, .025,
                                     .05,   .1,     .25,   .5,   1.,    2.5,  5.,  10.};

constexpr std::span<const double> none{};

constexpr std::array<metric_definition, static_cast<std::size_t>(metric::count)> table = {{
    {metric::requests_running, gauge, "vllm:num_requests_running",
     "Requests with a sequence in the running batch.", none},
    {metric::requests_waiting, gauge, "vllm:num_requests_waiting", "Requests waiting to run.",
     none},
    {metric::kv_cache_usage, gauge, "vllm:kv_cache_usage_perc",
     "Share of KV blocks in use; 1 is all of them.", none},
    {metric::cache_config_info, gauge, "vllm:cache_config_info", "Settings of the KV cache.", none},
    {metric::engine_healthy, gauge, "vllm:engine_healthy", "1 while the engine makes progress.",
     none},
    {metric::prompt_tokens, counter, "vllm:prompt_tokens_total", "Prompt tokens processed.", none},
    {metric::generation_tokens, counter, "vllm:generation_tokens_total", "Tokens generated.", none},
    {metric::prompt_tokens_by_source, counter, "vllm:prompt_tokens_by_source_total",
     "Prompt tokens by where their KV came from.", none},
    {metric::prefix_cache_queries, counter, "vllm:prefix_cache_queries_total",
     "Prompt tokens looked up in the prefix cache, each once.", none},
    {metric::prefix_cache_hits, counter, "vllm:prefix_cache_hits_total",
     "Prompt tokens found in the prefix cache, each once.", none},
    {metric::preemptions, counter, "vllm:num_preemptions_total",
     "Sequences whose blocks were taken back.", none},
    {metric::request_success, counter, "vllm:request_success_total",
     "Requests finished, by reason.", none},
    {metric::drafts, counter, "vllm:spec_decode_num_drafts_total",
     "Blocks of drafts that were verified.", none},
    {metric::draft_tokens, counter, "vllm:spec_decode_num_draft_tokens_total",
     "Tokens drafted and verified.", none},
    {metric::draft_tokens_accepted, counter, "vllm:spec_decode_num_accepted_tokens_total",
     "Drafted tokens that were the model's own.", none},
    {metric::draft_tokens_accepted_per_position, counter,
     "vllm:spec_decode_num_accepted_tokens_per_pos_total",
     "Accepted tokens by their place in the block.", none},
    {metric::time_to_first_token, histogram, "vllm:time_to_first_token_seconds",
     "Time from arrival to the first token.", first_token_seconds},
    {metric::inter_token_latency, histogram, "vllm:inter_token_latency_seconds",
     "Time between two tokens of a sequence.", token_gap_seconds},
    {metric::time_per_output_token, histogram, "vllm:request_time_per_output_token_seconds",
     "Mean time between tokens of a request.", token_gap_seconds},
    {metric::e2e_latency, histogram, "vllm:e2e_request_latency_seconds",
     "Time from arrival to the end of a request.", request_seconds},
    {metric::queue_time, histogram, "vllm:request_queue_time_seconds",
     "Time a request waited to run.", request_seconds},
    {metric::prefill_time, histogram, "vllm:request_prefill_time_seconds",
     "Time from first scheduled to first token.", request_seconds},
    {metric::decode_time, histogram, "vllm:request_decode_time_seconds",
     "Time from first to last token.", request_seconds},
    {metric::inference_time, histogram, "vllm:request_inference_time_seconds",
     "Time from first scheduled to last token.", request_seconds},
    {metric::iteration_tokens, histogram, "vllm:iteration_tokens_total",
     "Tokens computed in one step.", tokens_per_step},
    {metric::request_prompt_tokens, histogram, "vllm:request_prompt_tokens",
     "Prompt tokens of a request.", token_counts, true},
    {metric::request_generation_tokens, histogram, "vllm:request_generation_tokens",
     "Generated tokens of a request.", token_counts, true},
    {metric::request_params_max_tokens, histogram, "vllm:request_params_max_tokens",
     "The max_tokens parameter of a request.", token_counts, true},
    {metric::request_params_n, histogram, "vllm:request_params_n", "The n parameter of a request.",
     choices_per_request},
    {metric::http_requests, counter, "http_requests_total",
     "HTTP requests by method, status class and route.", none},
    {metric::http_request_duration, histogram, "http_request_duration_seconds",
     "Time from the end of a header to the end of its answer.", http_seconds},
    {metric::actor_mailbox_depth, gauge, "glimmer_actor_mailbox_depth",
     "Messages waiting for an actor.", none},
    {metric::tokenize_seconds, histogram, "glimmer_tokenize_seconds",
     "Time to read, render and tokenise one request.", fine_seconds},
    {metric::render_seconds, histogram, "glimmer_render_seconds",
     "Time to render one chat template.", fine_seconds},
    {metric::step_seconds, histogram, "glimmer_step_seconds", "Time of one executor step.",
     fine_seconds},
    {metric::last_step_timestamp, gauge, "glimmer_last_step_timestamp_seconds",
     "Unix time of the last finished step.", none},
    {metric::kv_blocks, gauge, "glimmer_kv_blocks", "KV blocks by state.", none},
    {metric::parked_sequences, gauge, "glimmer_parked_sequences",
     "Sequences whose clients do not read.", none},
    {metric::admission_credits, gauge, "glimmer_admission_credits",
     "Places for requests: used, idle with a frontend, or in the pool.", none},
    {metric::reasoning_tokens, counter, "glimmer_reasoning_tokens_total",
     "Tokens of the reasoning channel.", none},
    {metric::parser_errors, counter, "glimmer_parser_errors_total",
     "Turns that were not well formed, by kind.", none},
    {metric::cancelled, counter, "glimmer_cancelled_total",
     "Requests cancelled, by stage and cause.", none},
    {metric::rejected, counter, "glimmer_rejected_total", "Requests turned away, by reason.", none},
    {metric::connections, gauge, "glimmer_connections", "Open client connections.", none},
    {metric::connections_refused, counter, "glimmer_connections_refused_total",
     "Connections turned away because there were too many.", none},
    {metric::drafts_per_position, counter, "glimmer_spec_decode_num_drafts_per_pos_total",
     "Blocks of drafts that reached so far; the denominator of the accepted ones.", none},
    {metric::draft_tokens_discarded, counter, "glimmer_spec_decode_num_discarded_tokens_total",
     "Tokens sampled behind the end of their sequence.", none},
    {metric::draft_plans, counter, "glimmer_spec_decode_plans_total",
     "What the drafter was asked, by outcome.", none},
    {metric::draft_blocks_full, counter, "glimmer_spec_decode_full_blocks_total",
     "Blocks of drafts that were accepted whole.", none},
    {metric::draft_blocks_short_of_context, counter,
     "glimmer_spec_decode_blocks_short_of_context_total",
     "Blocks drafted although the drafter knew only part of their window.", none},
    {metric::draft_seconds, counter, "glimmer_spec_decode_seconds_total",
     "Time of steps that verified drafts, and time waited for drafts.", none},
    {metric::drafter_present, gauge, "glimmer_drafter_present", "1 while a drafter answers.", none},
    {metric::draft_tokens_now, gauge, "glimmer_spec_decode_tokens_now",
     "Longest block asked for after the last step.", none},
    {metric::draft_length, histogram, "glimmer_spec_decode_draft_length",
     "Drafts per sampled row of a sequence.", draft_lengths},
}};

constexpr bool table_is_in_order() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].id) != i) return false;
  }
  return true;
}
static_assert(table_is_in_order(), "the table has the order of the enum");

}  // namespace

const metric_definition& definition_of(metric id) {
  GLIMMER_ASSERT(id < metric::count, "the id names a metric");
  return table[static_cast<std::size_t>(id)];
}

}  // namespace glimmer
