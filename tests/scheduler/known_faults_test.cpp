// Faults that servers of this kind have had, one test each.
#include <boost/test/unit_test.hpp>
#include <chrono>

#include "tests/scheduler/stage.hpp"
#include "tests/simulation/dice.hpp"

namespace glimmer {

using std::chrono::milliseconds;

BOOST_AUTO_TEST_SUITE(known_faults_test)

BOOST_AUTO_TEST_CASE(a_stream_whose_client_has_gone_is_not_computed_any_further) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.max_tokens = 100}));
  for (int i = 0; i < 3; ++i) engine.step();
  const auto plan = engine.sched.plan({});
  BOOST_TEST(engine.sched.cancel(request_id{1}, cancel_reason::gone) == 1u);
  engine.sched.commit(engine.executor.run(*plan), {});
  BOOST_TEST(!engine.step());
  BOOST_TEST(engine.sched.idle());
}

BOOST_AUTO_TEST_CASE(a_cancel_works_in_every_state) {
  auto config = small_config();
  config.max_num_seqs = 2;
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .max_tokens = 1, .window = 1}));   // ends
  BOOST_REQUIRE(engine.admit({.id = 10, .max_tokens = 9, .window = 1}));  // parks
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 20, .prompt = 100}));    // in prefill
  BOOST_REQUIRE(engine.admit({.id = 30, .max_tokens = 9}));  // decodes
  BOOST_REQUIRE(engine.admit({.id = 40, .choices = 3}));     // waits, with followers
  engine.step();
  engine.step();
  const auto plan = engine.sched.plan({});
  for (const std::uint64_t id : {1, 10, 20, 30, 40, 50}) {
    const auto ended = engine.sched.cancel(request_id{id}, cancel_reason::abort);
    const auto expected = id == 1 || id == 50 ? 0u : id == 40 ? 3u : 1u;
    BOOST_TEST(ended == expected);
    BOOST_TEST(engine.sched.cancel(request_id{id}, cancel_reason::abort) == 0u);
  }
  BOOST_TEST(engine.sched.take_finished().size() == 6u);
  engine.sched.commit(engine.executor.run(*plan), {});
  BOOST_TEST(engine.sched.idle());
  BOOST_TEST(engine.used(kv_group::full) + engine.used(kv_group::sliding) == 0u);
}

BOOST_AUTO_TEST_CASE(a_storm_of_aborts_leaves_no_block_behind) {
  stage engine;
  dice chance{7};
  for (std::uint64_t id = 1; id <= 5000; ++id) {
    BOOST_REQUIRE(engine.admit({.id = id, .prompt = chance.in({1, 60}), .max_tokens = 20}));
    if (chance.percent(60)) engine.step();
    engine.sched.cancel(request_id{1 + chance.next() % id}, cancel_reason::gone);
  }
  engine.run();
  engine.take(engine.sched.take_finished());
  BOOST_TEST(engine.finished.size() == 5000u);
  BOOST_TEST(engine.sched.idle());
  BOOST_TEST(engine.sched.stats().blocks[0].free == 64u);
  BOOST_TEST(engine.sched.stats().blocks[1].free == 64u);
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(sliding_blocks_come_back_from_sequences_that_cross_the_window_and_yield) {
  auto config = small_config();
  config.blocks = {20, 7};
  stage engine{config};
  for (std::uint64_t id = 1; id <= 40; ++id) {
    BOOST_REQUIRE(engine.admit({.id = id, .prompt = 20, .max_tokens = 30}));
  }
  engine.run();
  BOOST_TEST(engine.finished.size() == 40u);
  BOOST_TEST(engine.sched.stats().blocks[1].free == 7u);
  for (std::uint64_t id = 1; id <= 40; ++id) {
    BOOST_TEST(engine.streams[id] == solo({.id = id, .prompt = 20, .max_tokens = 30}),
               boost::test_tools::per_element());
  }
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(cancelling_choices_with_logprobs_ends_each_once) {
  stage engine;
  auto request = stage::request_of({.prompt = 50, .max_tokens = 30, .choices = 3});
  for (auto& choice : request.choices) {
    auto params = *choice.params;
    params.logprobs = 20;
    params.prompt_logprobs = 5;
    choice.params = std::make_shared<const sampling_params>(params);
  }
  BOOST_REQUIRE(engine.sched.admit(request, {}));
  for (int i = 0; i < 4; ++i) engine.step();
  const auto plan = engine.sched.plan({});
  engine.sched.cancel(request_id{1}, cancel_reason::gone);
  engine.take(engine.sched.commit(engine.executor.run(*plan), {}).finished);
  BOOST_TEST(engine.finished.size() == 3u);
  BOOST_TEST(engine.sched.idle());
}

BOOST_AUTO_TEST_CASE(a_request_bigger_than_the_pool_is_refused_and_the_others_finish) {
  auto config = small_config();
  config.max_model_len = 4000;
  config.block_size = 16;
  config.blocks = {62, 62};
  stage engine{config};
  BOOST_TEST(engine.admit({.id = 100, .prompt = 2000}).error().code == "kv_capacity_exceeded");
  for (std::uint64_t id = 1; id <= 10; ++id) {
    BOOST_REQUIRE(engine.admit({.id = id, .prompt = 50, .max_tokens = 10}));
  }
  engine.run();
  BOOST_TEST(engine.finished.size() == 10u);
}

BOOST_AUTO_TEST_CASE(sequences_that_cannot_go_on_never_fill_the_run_slots) {
  auto config = small_config();
  config.max_num_seqs = 4;
  stage engine{config};
  for (std::uint64_t id = 1; id <= 20; ++id) {
    BOOST_REQUIRE(engine.admit({.id = id, .max_tokens = 50, .window = 1}));
  }
  BOOST_REQUIRE(engine.admit({.id = 21, .max_tokens = 5}));
  engine.run();
  BOOST_TEST(engine.finished.contains(21));
  BOOST_TEST(engine.sched.stats().parked == 20u);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_yielded_keeps_its_place) {
  auto config = small_config();
  config.blocks = {10, 64};
  config.max_num_seqs = 2;
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 12, .max_tokens = 25}));
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 12, .max_tokens = 20}));
  for (std::uint64_t id = 3; id < 10; ++id) {
    BOOST_REQUIRE(engine.admit({.id = id, .prompt = 12, .max_tokens = 20}));
  }
  while (!engine.finished.contains(2)) {
    BOOST_REQUIRE(engine.step());
    BOOST_TEST(!engine.finished.contains(3));
  }
  BOOST_TEST(engine.sched.stats().preemptions > 0u);
}

BOOST_AUTO_TEST_CASE(a_stream_gets_a_token_in_every_step_beside_endless_long_prompts) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.id = 1, .max_tokens = 100}));
  engine.step();
  for (std::uint64_t id = 2; !engine.finished.contains(1); ++id) {
    BOOST_REQUIRE(engine.admit({.id = id, .prompt = 100, .max_tokens = 1}));
    const auto before = engine.streams[1].size();
    BOOST_REQUIRE(engine.step());
    BOOST_TEST(engine.streams[1].size() == before + 1);
    BOOST_TEST(engine.last.tokens.size() <= 32u);
  }
}

BOOST_AUTO_TEST_CASE(a_short_prompt_is_not_stuck_behind_a_long_one) {
  auto config = small_config();
  config.max_model_len = 2000;
  config.blocks = {1000, 1000};
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 1500, .max_tokens = 1}));
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 20, .max_tokens = 1}));
  for (int i = 0; i < 2; ++i) engine.step();
  BOOST_TEST(engine.finished.contains(2));
}

// Every neighbour, chunk size and pool gives the same tokens.
BOOST_AUTO_TEST_CASE(one_prompt_answers_the_same_in_any_company) {
  const ask a{.id = 1, .prompt = 37, .max_tokens = 20};
  const auto expected = solo(a);
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      dice chance{seed};
      auto config = small_config();
      config.max_num_batched_tokens = chance.in({8, 60});
      config.max_partial_prefills = chance.in({1, 5});
      config.blocks = {chance.in({15, 40}), chance.in({4, 40})};
      stage engine{config};
      const auto place = chance.in({0, 10});
      for (std::uint32_t i = 0; i <= 10; ++i) {
        if (i == place) BOOST_REQUIRE(engine.admit(a));
        const ask other{.id = 10 + i,
                        .prompt = chance.in({1, 45}),
                        .max_tokens = chance.in({1, 10}),
                        .first_token = static_cast<token_id>(chance.in({0, 3}))};
        BOOST_REQUIRE(engine.admit(other));
        if (chance.percent(40)) engine.step();
      }
      engine.run();
      BOOST_REQUIRE(engine.streams[1] == expected);
      BOOST_REQUIRE(engine.healthy());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_flood_is_refused_beyond_the_limit_and_the_rest_is_served) {
  auto config = small_config();
  config.max_num_seqs = 1;
  config.queued_sequences_max = 100;
  stage engine{config};
  std::uint32_t refused = 0;
  for (std::uint64_t id = 1; id <= 5000; ++id) {
    const auto verdict = engine.admit({.id = id, .max_tokens = 2});
    if (verdict) continue;
    BOOST_TEST((verdict.error().kind == error_kind::overloaded));
    ++refused;
  }
  BOOST_TEST(refused == 4900u);
  BOOST_TEST(engine.sched.stats().refused == 4900u);
  engine.run();
  BOOST_TEST(engine.finished.size() == 100u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
