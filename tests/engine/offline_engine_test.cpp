#include "engine/offline_engine.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/engine/fake_stepper.hpp"
#include "tests/engine/jobs.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(offline_engine_test)

using tokens = std::vector<token_id>;

constexpr std::uint32_t vocab = 64;

/// Pools for many sequences; tests shrink what they are about.
scheduler_config roomy() {
  return {.max_model_len = 200,
          .max_num_seqs = 40,
          .max_num_batched_tokens = 512,
          .block_size = 4,
          .blocks = {4000, 4000},
          .window = 16,
          .end_tokens = {0}};
}

std::unique_ptr<offline_engine> make(const scheduler_config& config,
                                     fake_stepper::options with = {.vocab = vocab}) {
  BOOST_REQUIRE(check(config).has_value());
  return std::make_unique<offline_engine>(config, std::int64_t{vocab},
                                          std::make_unique<fake_stepper>(config, with));
}

/// Every job in an engine of its own.
std::vector<offline_output> alone(const std::vector<job>& jobs, const scheduler_config& config) {
  std::vector<offline_output> out;
  for (const auto& j : jobs) {
    auto engine = make(config);
    for (auto& o : run_together(*engine, {j})) out.push_back(std::move(o));
  }
  return out;
}

BOOST_AUTO_TEST_CASE(a_prompt_gets_its_tokens_and_one_ending) {
  auto engine = make(roomy());
  const auto ids = engine->submit({1, 2, 3}, {.temperature = 0, .max_tokens = 5, .min_tokens = 5});
  BOOST_REQUIRE(ids.has_value());
  engine->run();
  const auto& out = engine->output(ids->at(0));
  BOOST_TEST(out.tokens.size() == 5u);
  BOOST_REQUIRE(out.finished.has_value());
  BOOST_TEST((out.finished->cause == end_cause::length));
  BOOST_TEST(out.finished->usage.completion_tokens == 5u);
  BOOST_TEST(!engine->step());
}

BOOST_AUTO_TEST_CASE(tokens_outside_of_the_vocabulary_are_refused) {
  auto engine = make(roomy());
  for (const token_id bad : {-1, 64, 2147483647}) {
    const auto ids = engine->submit({1, bad}, {.max_tokens = 1});
    BOOST_REQUIRE(!ids.has_value());
    BOOST_TEST(ids.error().text.find(std::to_string(bad)) != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(choices_differ_and_each_equals_a_request_with_its_own_seed) {
  const job many{{5, 6, 7, 8, 9}, {.seed = 3, .max_tokens = 20, .min_tokens = 20}, 4};
  auto engine = make(roomy());
  const auto forks = run_together(*engine, {many});
  for (std::uint32_t i = 0; i < 4; ++i) {
    auto own = many;
    own.choices = 1;
    own.params.seed = choice_seed(many.params.seed, i);
    check_same(forks[i], alone({own}, roomy())[0]);
    for (std::uint32_t k = 0; k < i; ++k) BOOST_TEST((forks[i].tokens != forks[k].tokens));
  }
}

BOOST_AUTO_TEST_CASE(a_batch_of_32_brings_each_the_same_bits_as_alone) {
  const auto jobs = random_jobs({.count = 32, .vocab = vocab}, 1);
  auto engine = make(roomy());
  check_same(run_together(*engine, jobs), alone(jobs, roomy()));
}

BOOST_AUTO_TEST_CASE(the_size_of_steps_and_chunks_changes_no_bit) {
  const auto jobs = random_jobs({.count = 12, .vocab = vocab}, 2);
  const auto expected = alone(jobs, roomy());
  for (const std::uint32_t budget : {1, 7, 16, 33}) {
    auto config = roomy();
    config.max_num_batched_tokens = budget;
    config.max_num_seqs = std::min(budget, config.max_num_seqs);
    auto engine = make(config);
    check_same(run_together(*engine, jobs), expected);
  }
}

BOOST_AUTO_TEST_CASE(pools_so_small_that_sequences_are_preempted_change_no_bit) {
  const auto jobs = random_jobs({.count = 24, .vocab = vocab}, 3);
  const auto expected = alone(jobs, roomy());
  std::uint64_t preemptions = 0;
  for (const std::uint32_t full : {40, 55, 90})
    for (const std::uint32_t sliding : {40, 60}) {
      auto config = roomy();
      config.blocks = {full, sliding};
      config.max_num_batched_tokens = 64;
      auto engine = make(config);
      check_same(run_together(*engine, jobs), expected);
      preemptions += engine->stats().preemptions;
    }
  BOOST_TEST(preemptions > 0u);
}

BOOST_AUTO_TEST_CASE(broken_logits_end_their_sequence_as_error_and_nobody_elses) {
  const token_id poison = 63;
  std::vector<job> jobs(3, {{1, 2, 3}, {.temperature = 0, .max_tokens = 8, .min_tokens = 8}});
  for (auto& j : jobs) j.params.logit_bias = {{poison, -100.0f}};
  jobs[1].prompt = {1, poison, 3};
  jobs[2].prompt = {9, 9};
  auto engine = make(roomy(), {.vocab = vocab, .poison = poison});
  const auto out = run_together(*engine, jobs);
  BOOST_TEST((out[1].finished->cause == end_cause::error));
  BOOST_TEST(out[1].tokens.empty());
  BOOST_TEST(out[0].tokens.size() == 8u);
  BOOST_TEST(out[2].tokens.size() == 8u);
}

BOOST_AUTO_TEST_CASE(a_failed_step_ends_its_sequences_and_the_engine_serves_the_next) {
  auto engine = make(roomy(), {.vocab = vocab, .failing_step = 3});
  const job j{{1, 2, 3}, {.temperature = 0, .max_tokens = 8, .min_tokens = 8}};
  const auto out = run_together(*engine, {j, j});
  for (const auto& o : out) BOOST_TEST((o.finished->cause == end_cause::error));
  check_same(run_together(*engine, {j})[0], alone({j}, roomy())[0]);
}

BOOST_AUTO_TEST_CASE(a_cancelled_sequence_ends_once_and_its_neighbour_goes_on) {
  auto engine = make(roomy());
  const sampling_params params{.temperature = 0, .max_tokens = 30, .min_tokens = 30};
  const auto a = engine->submit({1, 2}, params)->at(0);
  const auto b = engine->submit({3, 4}, params)->at(0);
  for (int i = 0; i < 5; ++i) BOOST_TEST(engine->step());
  engine->cancel(a);
  engine->cancel(a);
  engine->run();
  BOOST_TEST((engine->output(a).finished->cause == end_cause::cancelled));
  BOOST_TEST(engine->output(a).tokens.size() < 30u);
  BOOST_TEST(engine->output(b).tokens.size() == 30u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
