// Drafting changes how many tokens come in a step and nothing else. The faults of other servers
// that are of this kind have a test each.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "engine/offline_engine.hpp"
#include "tests/engine/fake_proposer.hpp"
#include "tests/engine/fake_stepper.hpp"
#include "tests/engine/jobs.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(drafting_test)

namespace {

constexpr std::uint32_t vocab = 64;
using outputs = std::vector<offline_output>;
using drafts = fake_proposer::options;

scheduler_config roomy() {
  return {.max_model_len = 200,
          .max_num_seqs = 40,
          .max_num_batched_tokens = 512,
          .block_size = 4,
          .blocks = {4000, 4000},
          .window = 16,
          .prefix_caching = true,
          .end_tokens = {0}};
}

scheduler_config drafting(std::uint32_t tokens, scheduler_config config = roomy()) {
  config.drafting = {.tokens_max = tokens,
                     .adaptive = false,
                     .verify_rows_max = 512,
                     .vocab_size = token_id{vocab}};
  return config;
}

/// Ids are dealt out by the engine, the same ones to the same jobs.
fake_proposer::truths truths_of(const std::vector<job>& jobs, const outputs& plain) {
  fake_proposer::truths out;
  std::size_t at = 0;
  std::uint64_t id = 0;
  for (const auto& j : jobs) {
    ++id;  // the request
    for (std::uint32_t i = 0; i < j.choices; ++i) {
      auto tokens = j.prompt;
      const auto& more = plain.at(at++).tokens;
      tokens.insert(tokens.end(), more.begin(), more.end());
      out[++id] = std::move(tokens);
    }
  }
  return out;
}

std::unique_ptr<offline_engine> plain_engine(const scheduler_config& config = roomy()) {
  return std::make_unique<offline_engine>(
      config, std::int64_t{vocab},
      std::make_unique<fake_stepper>(config, fake_stepper::options{.vocab = vocab}));
}

outputs plain(const std::vector<job>& jobs) {
  auto engine = plain_engine();
  return run_together(*engine, jobs);
}

std::unique_ptr<offline_engine> engine_with(const scheduler_config& config,
                                            fake_proposer::truths truths, const drafts& with) {
  BOOST_REQUIRE(check(config).has_value());
  return std::make_unique<offline_engine>(
      config, std::int64_t{vocab},
      std::make_unique<fake_stepper>(config, fake_stepper::options{.vocab = vocab}),
      std::make_unique<fake_proposer>(std::move(truths), with));
}

/// Jobs together with a drafter must bring what they bring without.
drafting_stats check_unchanged(const std::vector<job>& jobs, const scheduler_config& config,
                               const drafts& with) {
  const auto expected = plain(jobs);
  auto engine = engine_with(config, truths_of(jobs, expected), with);
  check_same(run_together(*engine, jobs), expected);
  BOOST_TEST(!engine->check_invariants());
  const auto stats = engine->stats();
  BOOST_TEST(stats.blocks[0].used + stats.blocks[1].used == 0u);
  return stats.drafting;
}

job greedy(std::uint32_t tokens, std::vector<token_id> prompt = {1, 2, 3, 4, 5}) {
  return {std::move(prompt), {.temperature = 0, .max_tokens = tokens, .ignore_eos = true}};
}

double tokens_per_block(const drafting_stats& d) {
  return 1 + static_cast<double>(d.accepted) / static_cast<double>(d.rounds);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_drafter_and_length_brings_the_same_tokens_logprobs_and_endings) {
  const auto jobs = random_jobs({.count = 24, .vocab = vocab}, 11);
  for (const std::uint32_t tokens : {1, 4, 15})
    for (const std::uint32_t right : {0, 60, 100}) {
      const auto d = check_unchanged(jobs, drafting(tokens), {.right_percent = right});
      BOOST_TEST(d.rounds > 0u);
      BOOST_TEST((d.accepted > 0) == (right > 0));
    }
}

BOOST_AUTO_TEST_CASE(adaptive_lengths_bring_the_same_tokens) {
  auto config = drafting(15);
  config.drafting.adaptive = true;
  const auto jobs = random_jobs({.count = 24, .vocab = vocab}, 12);
  BOOST_TEST(check_unchanged(jobs, config, {.right_percent = 80}).accepted > 0u);
}

BOOST_AUTO_TEST_CASE(an_oracle_brings_whole_blocks_and_a_wrong_drafter_one_token_a_step) {
  const auto lucky = check_unchanged({greedy(65)}, drafting(15), {.right_percent = 100});
  BOOST_TEST(lucky.rounds == 4u);
  BOOST_TEST(lucky.full_rounds == 4u);
  BOOST_TEST(lucky.accepted == 60u);
  const auto unlucky = check_unchanged({greedy(65)}, drafting(15), {.right_percent = 0});
  BOOST_TEST(unlucky.accepted == 0u);
  BOOST_TEST(unlucky.rounds == 63u);
}

BOOST_AUTO_TEST_CASE(accepted_lengths_follow_the_geometric_law) {
  std::vector<job> jobs;
  for (token_id i = 0; i < 30; ++i) jobs.push_back(greedy(150, {i, 5, 7}));
  const auto d = check_unchanged(jobs, drafting(8), {.right_percent = 70});
  double expected = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    expected *= 0.7;
    const auto seen = double(d.accepted_at[i]) / double(d.drafted_at[i]);
    BOOST_TEST(std::abs(seen - expected) < 0.06, "position " << i << ": " << seen);
  }
}

BOOST_AUTO_TEST_CASE(max_tokens_at_every_remainder_ends_alike) {
  for (std::uint32_t tokens = 1; tokens <= 35; ++tokens) {
    auto sampled = greedy(tokens, {9, 8, 7});
    sampled.params.temperature = 1;
    check_unchanged({greedy(tokens), sampled}, drafting(15), {.right_percent = 100});
  }
}

BOOST_AUTO_TEST_CASE(a_stop_token_at_every_place_in_a_block_ends_alike) {
  const auto whole = plain({greedy(40)}).at(0).tokens;
  for (std::size_t at = 0; at < 34; ++at) {
    auto j = greedy(40);
    j.params.stop_token_ids = {whole[at]};
    check_unchanged({j}, drafting(15), {.right_percent = 100});
    j.params.min_tokens = static_cast<std::uint32_t>(at);
    check_unchanged({j}, drafting(15), {.right_percent = 100});
  }
}

BOOST_AUTO_TEST_CASE(tokens_behind_a_stop_are_counted_apart) {
  const auto whole = plain({greedy(40)}).at(0).tokens;
  auto j = greedy(40);
  std::size_t at = 3;  // the first token that did not occur before
  while (std::find(whole.begin(), whole.begin() + std::ptrdiff_t(at), whole[at]) !=
         whole.begin() + std::ptrdiff_t(at))
    ++at;
  j.params.stop_token_ids = {whole[at]};
  const auto expected = plain({greedy(40)});
  auto engine = engine_with(drafting(15), truths_of({j}, expected), {.right_percent = 100});
  const auto out = run_together(*engine, {j}).at(0);
  BOOST_TEST(out.tokens.size() == at + 1);
  BOOST_TEST(out.finished->usage.completion_tokens == at + 1);
  const auto d = engine->stats().drafting;
  BOOST_TEST(engine->stats().generated_tokens + d.discarded == 1 + d.rounds + d.accepted);
  BOOST_TEST(d.discarded > 0u);
}

BOOST_AUTO_TEST_CASE(the_context_ends_where_it_ends_without_drafts) {
  auto j = greedy(1000);
  check_unchanged({j}, drafting(15), {.right_percent = 100});
}

// Penalties, minimum length, bias and masks see the tokens before each row, accepted or not yet.
BOOST_AUTO_TEST_CASE(known_fault_state_is_not_advanced_over_rejected_tokens) {
  std::vector<job> jobs;
  for (token_id i = 0; i < 12; ++i) {
    auto j = greedy(60, {i, 3, 3, 9});
    j.params.temperature = i % 2 == 0 ? 0.0f : 1.0f;
    j.params.seed = static_cast<std::uint64_t>(i);
    j.params.repetition_penalty = 1.3f;
    j.params.presence_penalty = 0.4f;
    j.params.frequency_penalty = 0.7f;
    j.params.bad_words = {{5, 6}, {i}};
    j.params.logprobs = 3;
    jobs.push_back(std::move(j));
  }
  for (const std::uint32_t right : {30, 70, 95})
    check_unchanged(jobs, drafting(15), {.right_percent = right});
}

BOOST_AUTO_TEST_CASE(known_fault_a_mixed_load_with_random_aborts_ends_well) {
  const auto jobs = random_jobs({.count = 200, .vocab = vocab}, 13);
  const auto expected = plain(jobs);
  auto engine = engine_with(drafting(15), truths_of(jobs, expected), {.right_percent = 60});
  std::vector<sequence_id> ids;
  for (const auto& j : jobs) {
    const auto taken = engine->submit(j.prompt, j.params, j.choices);
    ids.insert(ids.end(), taken->begin(), taken->end());
  }
  for (std::uint32_t step = 0; engine->step(); ++step) {
    engine->cancel(ids[philox4x32({step, 0, 0, 0}, {3, 1})[0] % ids.size()]);
    BOOST_REQUIRE(!engine->check_invariants());
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto& out = engine->output(ids[i]);
    BOOST_REQUIRE(out.finished.has_value());
    BOOST_REQUIRE(out.tokens.size() <= expected[i].tokens.size());
    BOOST_TEST(std::equal(out.tokens.begin(), out.tokens.end(), expected[i].tokens.begin()));
  }
}

BOOST_AUTO_TEST_CASE(known_fault_prefix_cache_and_drafts_live_together_in_a_full_pool) {
  std::vector<job> jobs;
  for (std::uint64_t group = 0; group < 5; ++group)
    for (int again = 0; again < 3; ++again)  // prompts come again soon
      for (const auto& j : random_jobs({.count = 6, .vocab = vocab}, 20 + group)) jobs.push_back(j);
  const auto expected = plain(jobs);
  const auto truths = truths_of(jobs, expected);
  std::uint64_t preemptions = 0, cached = 0, accepted = 0;
  for (const std::uint32_t blocks : {42, 60, 90, 140}) {
    auto config = drafting(15);
    config.blocks = {blocks, blocks};
    config.max_num_seqs = 6;
    config.max_num_batched_tokens = 64;
    config.drafting.verify_rows_max = 64;
    auto engine = engine_with(config, truths, {.right_percent = 70});
    check_same(run_together(*engine, jobs), expected);
    preemptions += engine->stats().preemptions;
    cached += engine->stats().cached_tokens;
    accepted += engine->stats().drafting.accepted;
  }
  BOOST_TEST(preemptions > 0u);
  BOOST_TEST(cached > 0u);
  BOOST_TEST(accepted > 0u);
}

BOOST_AUTO_TEST_CASE(known_fault_acceptance_does_not_fall_with_the_number_of_streams) {
  double alone = 0;
  for (const std::size_t streams : {1, 4, 8, 16, 32}) {
    std::vector<job> jobs(streams, greedy(120));
    const auto expected = plain(jobs);
    auto engine = engine_with(drafting(15), truths_of(jobs, expected), {.right_percent = 75});
    check_same(run_together(*engine, jobs), expected);
    const auto mean = tokens_per_block(engine->stats().drafting);
    if (streams == 1) alone = mean;
    BOOST_TEST(std::abs(mean - 4) < 1.2, streams << " streams: " << mean << ", alone " << alone);
  }
}

BOOST_AUTO_TEST_CASE(known_fault_a_slot_keeps_nothing_of_the_request_before) {
  auto config = drafting(15);
  config.max_num_seqs = 1;
  std::vector<job> jobs;
  for (token_id i = 0; i < 50; ++i) jobs.push_back(greedy(20, {i, 1, 2}));
  BOOST_TEST(tokens_per_block(check_unchanged(jobs, config, {.right_percent = 100})) > 6);
}

BOOST_AUTO_TEST_CASE(known_fault_different_lengths_in_one_batch_are_verified_apart) {
  auto config = drafting(15);
  config.drafting.verify_rows_max = 90;  // less than everybody's block
  std::vector<job> jobs;
  for (std::uint32_t i = 1; i <= 40; ++i) jobs.push_back(greedy(i, {token_id(i), 2}));
  BOOST_TEST(check_unchanged(jobs, config, {.right_percent = 100}).accepted > 0u);
}

BOOST_AUTO_TEST_CASE(known_fault_a_loop_without_proposals_ends) {
  check_unchanged({greedy(50), greedy(50, {7})}, drafting(15), {.silent = true});
}

BOOST_AUTO_TEST_CASE(a_drafter_that_fails_now_and_then_costs_time_alone) {
  const auto jobs = random_jobs({.count = 24, .vocab = vocab}, 15);
  const auto d = check_unchanged(jobs, drafting(8), {.right_percent = 80, .failing_every = 3});
  BOOST_TEST(d.plans_given_up > 0u);
  BOOST_TEST(d.accepted > 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
