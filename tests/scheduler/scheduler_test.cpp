#include <boost/test/unit_test.hpp>

#include "tests/scheduler/stage.hpp"

namespace glimmer {

using std::chrono::seconds;

BOOST_AUTO_TEST_SUITE(scheduler_test)

BOOST_AUTO_TEST_CASE(a_request_is_computed_and_ends_once) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.max_tokens = 3}));
  BOOST_TEST(engine.run() == 3u);
  BOOST_TEST(engine.streams[1] == solo({.max_tokens = 3}), boost::test_tools::per_element());
  BOOST_TEST((engine.finished.at(1).cause == end_cause::length));
  BOOST_TEST(engine.finished.at(1).usage.prompt_tokens == 4u);
  BOOST_TEST(engine.finished.at(1).usage.completion_tokens == 3u);
  BOOST_TEST(engine.sched.idle());
  BOOST_TEST(engine.used(kv_group::full) == 0u);
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(nothing_is_planned_while_a_step_is_in_flight) {
  stage engine;
  BOOST_REQUIRE(engine.admit({}));
  const auto plan = engine.sched.plan({});
  BOOST_REQUIRE(plan);
  BOOST_TEST(!engine.sched.plan({}));
  BOOST_TEST(engine.sched.stats().step_in_flight);
}

BOOST_AUTO_TEST_CASE(a_long_prompt_is_computed_in_chunks_that_sample_only_at_the_end) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.prompt = 70, .max_tokens = 1}));
  std::vector<std::uint32_t> counts;
  std::vector<bool> samples;
  while (engine.step()) {
    counts.push_back(engine.rows(1)->count);
    samples.push_back(engine.rows(1)->sample);
  }
  BOOST_TEST(counts == (std::vector<std::uint32_t>{32, 32, 6}), boost::test_tools::per_element());
  BOOST_TEST(samples == (std::vector<bool>{false, false, true}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(prompts_and_streams_share_a_step) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 4, .max_tokens = 50}));
  engine.step();
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 60}));
  engine.step();
  BOOST_TEST(engine.rows(1)->count == 1u);
  BOOST_TEST(engine.rows(2)->count == 28u);  // 31 rows are left; the chunk ends with a block
}

BOOST_AUTO_TEST_CASE(the_context_ends_a_sequence_by_length) {
  stage engine;
  BOOST_REQUIRE_EQUAL(engine.admit({.prompt = 120, .max_tokens = 1000})->output_max, 8u);
  engine.run();
  BOOST_TEST((engine.finished.at(1).cause == end_cause::length));
  BOOST_TEST(engine.finished.at(1).usage.completion_tokens == 8u);
}

BOOST_AUTO_TEST_CASE(a_prompt_can_be_computed_without_any_output) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.prompt = 40, .max_tokens = 0, .choices = 2}));
  engine.run();
  BOOST_TEST((engine.finished.at(1).cause == end_cause::length));
  BOOST_TEST((engine.finished.at(2).cause == end_cause::length));
  BOOST_TEST(engine.streams[1].empty());
  BOOST_TEST(engine.sched.idle());
}

BOOST_AUTO_TEST_CASE(first_come_is_first_served) {
  auto config = small_config();
  config.max_num_seqs = 1;
  stage engine{config};
  for (std::uint64_t id = 1; id <= 3; ++id) BOOST_REQUIRE(engine.admit({.id = id}));
  engine.step();
  BOOST_TEST(engine.rows(1));
  BOOST_TEST(engine.sched.stats().waiting == 2u);
  for (int i = 0; i < 4; ++i) engine.step();
  BOOST_TEST(engine.rows(2));
  engine.run();
  BOOST_TEST(engine.finished.size() == 3u);
}

// --- Token windows -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_parked_sequence_is_never_planned) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.max_tokens = 10, .window = 2}));
  engine.run();
  BOOST_TEST(engine.streams[1].size() == 2u);
  BOOST_TEST(engine.sched.stats().parked == 1u);
  BOOST_TEST(!engine.sched.stats().has_work);
  BOOST_TEST(!engine.step());
  engine.sched.grant({1}, 3);
  engine.run();
  BOOST_TEST(engine.streams[1].size() == 5u);
  engine.sched.grant({1}, 100);
  engine.run();
  BOOST_TEST(engine.streams[1] == solo({.max_tokens = 10}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_parked_sequence_holds_no_run_slot) {
  auto config = small_config();
  config.max_num_seqs = 1;
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .window = 1}));
  BOOST_REQUIRE(engine.admit({.id = 2}));
  engine.run();
  BOOST_TEST(engine.finished.contains(2));
  BOOST_TEST(!engine.finished.contains(1));
}

BOOST_AUTO_TEST_CASE(blocks_of_a_parked_sequence_are_taken_for_others_and_it_goes_on_later) {
  auto config = small_config();
  config.blocks = {8, 8};
  stage engine{config};
  const ask slow{.id = 1, .prompt = 16, .max_tokens = 6, .window = 1};
  BOOST_REQUIRE(engine.admit(slow));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 28, .max_tokens = 4}));
  engine.run();
  BOOST_TEST(engine.finished.contains(2));
  BOOST_TEST(engine.sched.stats().preemptions == 1u);
  engine.sched.grant({1}, 100);
  engine.run();
  BOOST_TEST(engine.streams[1] == solo(slow), boost::test_tools::per_element());
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(parked_too_long_is_cancelled) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.window = 1}));
  engine.run();
  BOOST_TEST((engine.sched.next_timeout() == time_point{seconds{120}}));
  engine.now = {seconds{119}};
  engine.step();
  BOOST_TEST(engine.finished.empty());
  engine.now = {seconds{120}};
  engine.step();
  BOOST_TEST((engine.finished.at(1).cause == end_cause::cancelled));
  BOOST_TEST((engine.finished.at(1).reason == cancel_reason::parked));
  BOOST_TEST(engine.sched.idle());
}

BOOST_AUTO_TEST_CASE(grants_cannot_overflow_the_window) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.max_tokens = 20}));
  for (int i = 0; i < 3; ++i) engine.sched.grant({1}, UINT32_MAX);
  engine.sched.grant({99}, 1);
  engine.run();
  BOOST_TEST(engine.streams[1].size() == 20u);
}

// --- Endings -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_stop_string_ends_with_the_token_it_was_found_in) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.max_tokens = 10}));
  for (int i = 0; i < 5; ++i) engine.step();
  engine.sched.end({1}, 2);
  engine.sched.end({1}, 1);
  engine.take(engine.sched.take_finished());
  BOOST_TEST((engine.finished.at(1).cause == end_cause::stop_string));
  BOOST_TEST(engine.finished.at(1).usage.completion_tokens == 3u);
  BOOST_TEST(engine.sched.idle());
}

BOOST_AUTO_TEST_CASE(tokens_of_the_step_in_flight_are_dropped_after_an_end) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.max_tokens = 10}));
  engine.step();
  const auto plan = engine.sched.plan({});
  engine.sched.end({1}, 0);
  BOOST_TEST(engine.sched.take_finished().size() == 1u);
  BOOST_TEST(engine.used(kv_group::full) == 2u);  // the device may still write there
  const auto out = engine.sched.commit(engine.executor.run(*plan), {});
  BOOST_TEST(out.outputs.empty());
  BOOST_TEST(out.finished.empty());
  BOOST_TEST(engine.used(kv_group::full) == 0u);
}

BOOST_AUTO_TEST_CASE(the_stop_token_is_delivered_and_named) {
  auto config = small_config();
  const auto expected = solo({.max_tokens = 5});
  config.end_tokens = {expected[4], expected[2]};
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.max_tokens = 50}));
  engine.run();
  BOOST_TEST((engine.finished.at(1).cause == end_cause::stop_token));
  BOOST_TEST(*engine.finished.at(1).stop_token == expected[2]);
  BOOST_TEST(engine.streams[1].size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_deadline_ends_every_choice_in_whatever_state) {
  stage engine;
  auto request = stage::request_of({.max_tokens = 50, .choices = 3, .window = 2});
  request.deadline = time_point{seconds{5}};
  BOOST_REQUIRE(engine.sched.admit(request, {}));
  engine.run();
  engine.now = {seconds{5}};
  engine.step();
  BOOST_TEST(engine.finished.size() == 3u);
  BOOST_TEST((engine.finished.at(2).cause == end_cause::deadline));
  BOOST_TEST(engine.sched.idle());
}

BOOST_AUTO_TEST_CASE(a_failed_step_ends_its_sequences_and_nobody_else) {
  auto config = small_config();
  config.max_num_seqs = 1;
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1}));
  BOOST_REQUIRE(engine.admit({.id = 2}));
  const auto plan = engine.sched.plan({});
  engine.executor.run(*plan);
  engine.sched.fail_step({plan->id.value + 1}, {});  // not the one in flight
  engine.sched.fail_step(plan->id, {});
  engine.run();
  BOOST_TEST((engine.finished.at(1).cause == end_cause::error));
  BOOST_TEST((engine.finished.at(2).cause == end_cause::length));
  BOOST_TEST(engine.sched.idle());
}

BOOST_AUTO_TEST_CASE(a_sequence_that_never_gets_its_token_ends_with_an_error) {
  stage engine;
  BOOST_REQUIRE(engine.admit({}));
  for (int i = 0; i < 1000 && !engine.sched.idle(); ++i) {
    const auto plan = engine.sched.plan({});
    BOOST_REQUIRE(plan->sequences.size() == 1u);
    engine.take(engine.sched.commit({.id = plan->id, .sequences = {{.id = {1}}}}, {}).finished);
  }
  BOOST_TEST((engine.finished.at(1).cause == end_cause::error));
}

BOOST_AUTO_TEST_CASE(a_row_without_its_token_is_computed_again) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.prompt = 8, .choices = 2}));
  const auto first = engine.sched.plan({});
  engine.sched.commit({.id = first->id, .sequences = {{.id = {1}}}}, {});
  const auto again = engine.sched.plan({});
  BOOST_REQUIRE(again->sequences.size() == 1u);
  BOOST_TEST(again->sequences[0].position == 7u);
  BOOST_TEST(again->sequences[0].sample);
}

BOOST_AUTO_TEST_CASE(a_restarted_executor_costs_its_clients_only_time) {
  stage engine;
  const ask first{.id = 1, .prompt = 20, .max_tokens = 12};
  const ask second{.id = 2, .prompt = 9, .max_tokens = 8, .first_token = 3};
  BOOST_REQUIRE(engine.admit(first));
  BOOST_REQUIRE(engine.admit(second));
  for (int i = 0; i < 4; ++i) engine.step();
  BOOST_REQUIRE(engine.sched.plan({}));
  engine.executor.restart();
  engine.sched.restart({});
  engine.run();
  BOOST_TEST(engine.streams[1] == solo(first), boost::test_tools::per_element());
  BOOST_TEST(engine.streams[2] == solo(second), boost::test_tools::per_element());
  BOOST_TEST(engine.healthy());
}

// --- Choices -------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(choices_share_one_prefill) {
  stage engine;
  const ask a{.prompt = 22, .max_tokens = 5, .choices = 3};
  BOOST_REQUIRE(engine.admit(a));
  engine.step();
  BOOST_TEST(engine.last.sequences.size() == 1u);
  BOOST_TEST(engine.used(kv_group::full) == 6u);
  engine.step();
  BOOST_TEST(engine.rows(2)->position == 21u);
  BOOST_TEST(engine.rows(2)->count == 1u);
  BOOST_TEST(!engine.last.copies.empty());
  BOOST_TEST(engine.used(kv_group::full) == 8u);  // five shared, three of their own
  engine.run();
  BOOST_TEST(engine.finished.size() == 3u);
  BOOST_TEST(engine.streams[1] != engine.streams[2], boost::test_tools::per_element());
  BOOST_TEST(engine.executor.rows() == 22u + 4 + 2 * 5);
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(a_choice_inherits_the_prompt_of_a_cancelled_one) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.prompt = 60, .choices = 3}));
  engine.step();
  engine.sched.cancel(sequence_id{1}, cancel_reason::abort);
  engine.take(engine.sched.take_finished());
  engine.step();
  BOOST_TEST(engine.rows(2)->position == 32u);
  engine.run();
  BOOST_TEST(engine.finished.size() == 3u);
  BOOST_TEST(engine.finished.at(3).usage.completion_tokens == 4u);
  BOOST_TEST(engine.healthy());
}

// --- Blocks --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_last_arrival_yields_its_blocks_and_answers_the_same_later) {
  auto config = small_config();
  config.blocks = {10, 64};
  stage engine{config};
  const ask first{.id = 1, .prompt = 12, .max_tokens = 25};
  const ask second{.id = 2, .prompt = 12, .max_tokens = 20, .first_token = 9};
  BOOST_REQUIRE(engine.admit(first));
  BOOST_REQUIRE(engine.admit(second));
  engine.run();
  BOOST_TEST(engine.sched.stats().preemptions > 0u);
  BOOST_TEST(engine.streams[1] == solo(first), boost::test_tools::per_element());
  BOOST_TEST(engine.streams[2] == solo(second), boost::test_tools::per_element());
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(a_sequence_that_comes_back_brings_its_output_along) {
  auto config = small_config();
  config.blocks = {8, 8};
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 16, .max_tokens = 6, .window = 2}));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 28, .max_tokens = 2}));
  engine.step();
  BOOST_TEST(engine.last.dropped.size() == 1u);
  engine.run();
  engine.sched.grant({1}, 10);
  engine.step();
  BOOST_REQUIRE(engine.last.started.size() == 1u);
  BOOST_TEST(engine.last.started[0].output.size() == 2u);
  BOOST_TEST(engine.rows(1)->count == 18u);
}

BOOST_AUTO_TEST_CASE(sliding_blocks_are_few_however_long_the_sequence) {
  stage engine;
  BOOST_REQUIRE(engine.admit({.prompt = 100, .max_tokens = 20}));
  while (engine.step()) BOOST_TEST(engine.used(kv_group::sliding) <= 3u);
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(an_id_in_use_is_refused) {
  stage engine;
  BOOST_REQUIRE(engine.admit({}));
  BOOST_TEST((engine.admit({}).error().kind == error_kind::bug));
  auto twice = stage::request_of({.id = 5, .choices = 2});
  twice.choices[1].id = twice.choices[0].id;
  BOOST_TEST(!engine.sched.admit(twice, {}));
  engine.run();
  BOOST_TEST(engine.finished.size() == 1u);
}

BOOST_AUTO_TEST_CASE(progress_is_measured_from_the_arrival_of_work) {
  stage engine;
  engine.now = {seconds{100}};
  BOOST_REQUIRE(engine.admit({.max_tokens = 3, .window = 1}));
  BOOST_TEST((engine.sched.stats().last_progress == engine.now));
  engine.run();
  engine.now = {seconds{150}};
  engine.sched.grant({1}, 1);
  const auto plan = engine.sched.plan(engine.now);
  BOOST_TEST((engine.sched.stats().last_progress == engine.now));
  BOOST_TEST(engine.sched.stats().has_work);
}

BOOST_AUTO_TEST_CASE(a_step_may_bring_several_tokens_and_has_blocks_for_them) {
  auto config = small_config();
  config.tokens_per_step_max = 20;
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.max_tokens = 50}));
  engine.step();
  BOOST_TEST(engine.rows(1)->ahead == 19u);
  BOOST_TEST(engine.rows(1)->tables[0].count * config.block_size >= 4 + 19);
  engine.run();
  BOOST_TEST(engine.streams[1] == solo({.max_tokens = 50}), boost::test_tools::per_element());
  BOOST_TEST(engine.used(kv_group::full) == 0u);
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(tokens_ahead_keep_to_the_window_the_length_and_the_blocks_of_others) {
  auto config = small_config();
  config.tokens_per_step_max = 20;
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .max_tokens = 50, .window = 3}));
  BOOST_REQUIRE(engine.admit({.id = 10, .max_tokens = 6}));
  engine.step();
  BOOST_TEST(engine.rows(1)->ahead == 2u);
  BOOST_TEST(engine.rows(10)->ahead == 5u);
  config.blocks = {3, 3};
  stage narrow{config};
  BOOST_REQUIRE(narrow.admit({.id = 1, .max_tokens = 4}));
  BOOST_REQUIRE(narrow.admit({.id = 10, .max_tokens = 4}));
  narrow.run();
  BOOST_TEST(narrow.streams[1] == solo({.id = 1, .max_tokens = 4}),
             boost::test_tools::per_element());
  BOOST_TEST(narrow.streams[10] == solo({.id = 10, .max_tokens = 4}),
             boost::test_tools::per_element());
  BOOST_TEST(narrow.healthy());
}

BOOST_AUTO_TEST_CASE(all_prompts_of_a_request_are_taken_or_none) {
  stage engine;
  const auto good = stage::request_of({.id = 1});
  const auto wrong = stage::request_of({.id = 10, .prompt = 1000});
  BOOST_TEST(!engine.sched.admit(std::vector{good, wrong}, engine.now));
  BOOST_TEST(engine.sched.idle());
  BOOST_TEST(!engine.sched.admit(std::vector{good, good}, engine.now));
  const auto taken =
      engine.sched.admit(std::vector{good, stage::request_of({.id = 10})}, engine.now);
  BOOST_REQUIRE(taken);
  BOOST_TEST(taken->size() == 2u);
  engine.run();
  BOOST_TEST(engine.finished.size() == 2u);
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
