#include <boost/test/unit_test.hpp>

#include "tests/scheduler/stage.hpp"
#include "tests/simulation/dice.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(prefix_cache_test)

namespace {

// Blocks of 4, window 8.
scheduler_config caching_config() {
  auto config = small_config();
  config.prefix_caching = true;
  return config;
}

std::uint32_t cached_tokens(const stage& engine, std::uint64_t id) {
  return engine.finished.at(id).usage.cached_tokens;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_same_prompt_again_computes_only_its_last_block) {
  stage engine{caching_config()};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 30}));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 30}));
  engine.step();
  BOOST_TEST(engine.rows(2)->position == 28u);
  BOOST_TEST(engine.rows(2)->count == 2u);
  engine.run();
  BOOST_TEST(cached_tokens(engine, 1) == 0u);
  BOOST_TEST(cached_tokens(engine, 2) == 28u);
  BOOST_TEST(engine.streams[2] == solo({.id = 2, .prompt = 30}), boost::test_tools::per_element());
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(a_whole_number_of_blocks_still_computes_its_last_token) {
  stage engine{caching_config()};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 32, .max_tokens = 8}));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 32}));
  engine.run();
  BOOST_TEST(cached_tokens(engine, 2) == 28u);
}

BOOST_AUTO_TEST_CASE(another_salt_shares_nothing) {
  stage engine{caching_config()};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 30}));
  engine.run();
  auto salted = stage::request_of({.id = 2, .prompt = 30});
  salted.cache_salt = "other tenant";
  BOOST_REQUIRE(engine.sched.admit(salted, {}));
  engine.run();
  BOOST_TEST(cached_tokens(engine, 2) == 0u);
}

BOOST_AUTO_TEST_CASE(two_running_sequences_share_the_blocks_of_their_common_prefix) {
  stage engine{caching_config()};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 30, .max_tokens = 20}));
  engine.step();
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 30, .max_tokens = 20}));
  engine.step();
  BOOST_TEST(engine.used(kv_group::full) == 8u + 1);
  engine.run();
  BOOST_TEST(engine.healthy());
}

// Both compute the same prompt at the same time, because neither had begun when the other came.
BOOST_AUTO_TEST_CASE(blocks_computed_twice_are_kept_once) {
  auto config = caching_config();
  config.max_num_batched_tokens = 64;
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 30, .max_tokens = 5}));
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 30, .max_tokens = 5}));
  engine.step();
  BOOST_TEST(engine.used(kv_group::full) == 9u);
  engine.run();
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(every_turn_of_a_conversation_finds_the_turns_before_it) {
  auto config = caching_config();
  config.max_model_len = 1000;
  config.blocks = {256, 64};
  stage engine{config};
  dice chance{3};
  std::vector<token_id> conversation;
  for (std::uint64_t turn = 1; turn <= 10; ++turn) {
    const auto added = chance.in({5, 40});
    for (std::uint32_t i = 0; i < added; ++i) {
      conversation.push_back(static_cast<token_id>(chance.in({0, 50})));
    }
    auto request = stage::request_of({.id = turn, .max_tokens = 12});
    request.prompt = std::make_shared<const std::vector<token_id>>(conversation);
    BOOST_REQUIRE(engine.sched.admit(request, {}));
    engine.run();
    if (turn > 1) {
      BOOST_TEST(cached_tokens(engine, turn) + added + config.block_size >= conversation.size());
    }
    const auto& answer = engine.streams[turn];
    conversation.insert(conversation.end(), answer.begin(), answer.end());
  }
  BOOST_TEST(engine.healthy());
}

// The answer's reasoning is not repeated in the next prompt, which therefore leaves the old text
// where the old prompt ended.
BOOST_AUTO_TEST_CASE(a_turn_that_goes_on_from_the_prompts_end_needs_no_prefill_of_the_prompt) {
  auto config = caching_config();
  config.blocks = {64, 16};
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 42, .max_tokens = 60}));
  engine.run();
  auto request = stage::request_of({.id = 2, .prompt = 42});
  auto prompt = *request.prompt;
  prompt.resize(40);
  prompt.insert(prompt.end(), {60, 61, 62, 63, 60});
  request.prompt = std::make_shared<const std::vector<token_id>>(prompt);
  BOOST_REQUIRE(engine.sched.admit(request, {}));
  engine.run();
  BOOST_TEST(cached_tokens(engine, 2) == 40u);
}

BOOST_AUTO_TEST_CASE(without_a_whole_window_of_sliding_blocks_there_is_no_hit) {
  auto config = caching_config();
  config.blocks = {64, 4};  // window and one block: nothing of the old window can stay
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 30}));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 40, .first_token = 9}));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 3, .prompt = 30}));
  engine.run();
  BOOST_TEST(cached_tokens(engine, 3) == 0u);
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(the_prefix_used_last_is_evicted_last) {
  auto config = caching_config();
  config.blocks = {24, 64};
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 32, .max_tokens = 1, .first_token = 1}));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 32, .max_tokens = 1, .first_token = 2}));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 3, .prompt = 32, .max_tokens = 1, .first_token = 1}));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 4, .prompt = 60, .max_tokens = 1, .first_token = 3}));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 5, .prompt = 32, .max_tokens = 1, .first_token = 1}));
  engine.run();
  BOOST_TEST(cached_tokens(engine, 5) == 28u);
}

BOOST_AUTO_TEST_CASE(coming_back_after_preemption_is_cheap) {
  auto config = caching_config();
  config.blocks = {16, 32};
  stage engine{config};
  const ask slow{.id = 1, .prompt = 32, .max_tokens = 6, .window = 1};
  BOOST_REQUIRE(engine.admit(slow));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 28, .max_tokens = 12, .first_token = 5}));
  engine.run();
  BOOST_TEST(engine.sched.stats().preemptions == 1u);
  engine.sched.grant({1}, 100);
  engine.step();
  BOOST_TEST(engine.rows(1)->count < 33u);
  engine.run();
  BOOST_TEST(engine.streams[1] == solo(slow), boost::test_tools::per_element());
  BOOST_TEST(cached_tokens(engine, 1) == 0u);  // its first start found nothing: not billed later
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(prompt_logprobs_are_computed_and_never_taken_from_a_cache) {
  stage engine{caching_config()};
  for (std::uint64_t id = 1; id <= 2; ++id) {
    auto request = stage::request_of({.id = id, .prompt = 30});
    auto params = *request.choices[0].params;
    params.prompt_logprobs = 3;
    request.choices[0].params = std::make_shared<const sampling_params>(params);
    BOOST_REQUIRE(engine.sched.admit(request, {}));
    const auto plan = engine.sched.plan({});
    BOOST_TEST(plan->sequences[0].count == 30u);
    const auto out = engine.sched.commit(engine.executor.run(*plan), {});
    BOOST_TEST(out.outputs.at(0).prompt_logprobs.size() == 29u);
    engine.run();
    BOOST_TEST(cached_tokens(engine, id) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_reset_forgets_what_nobody_uses) {
  stage engine{caching_config()};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 30}));
  engine.run();
  BOOST_TEST(engine.sched.stats().blocks[0].cached > 0u);
  engine.sched.reset_prefix_cache();
  BOOST_TEST(engine.sched.stats().blocks[0].free == 64u);
  BOOST_TEST(engine.sched.stats().blocks[1].free == 64u);
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 30}));
  engine.run();
  BOOST_TEST(cached_tokens(engine, 2) == 0u);
}

BOOST_AUTO_TEST_CASE(a_restarted_executor_finds_no_old_contents) {
  stage engine{caching_config()};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 30}));
  engine.run();
  engine.executor.restart();
  engine.sched.restart({});
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 30}));
  engine.run();
  BOOST_TEST(cached_tokens(engine, 2) == 0u);
  BOOST_TEST(engine.healthy());
}

// A pool that is always full, shared prefixes of any length, eviction in every step.
BOOST_AUTO_TEST_CASE(answers_are_the_same_with_and_without_a_cache_in_a_full_pool) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::map<std::uint64_t, std::vector<token_id>> streams[2];
      for (const bool caching : {false, true}) {
        dice chance{seed};
        auto config = caching_config();
        config.prefix_caching = caching;
        config.blocks = {chance.in({8, 12}), chance.in({5, 9})};
        stage engine{config};
        for (std::uint64_t id = 1; id <= 200; ++id) {
          BOOST_REQUIRE(engine.admit({.id = id,
                                      .prompt = chance.in({1, 24}),
                                      .max_tokens = chance.in({1, 8}),
                                      .first_token = static_cast<token_id>(chance.in({0, 2}))}));
          if (chance.percent(50)) engine.step();
        }
        engine.run();
        BOOST_REQUIRE(engine.healthy());
        BOOST_REQUIRE((engine.sched.stats().cached_tokens > 0) == caching);
        streams[caching] = engine.streams;
      }
      BOOST_REQUIRE(streams[0] == streams[1]);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
