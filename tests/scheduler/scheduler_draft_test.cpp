// What the scheduler asks of a drafter and makes of its proposals.
#include <boost/test/unit_test.hpp>
#include <chrono>

#include "tests/scheduler/stage.hpp"

namespace glimmer {

using boost::test_tools::per_element;
using std::chrono::milliseconds;

BOOST_AUTO_TEST_SUITE(scheduler_draft_test)

namespace {

constexpr fake_drafter::temper oracle{.right_percent = 100};
constexpr fake_drafter::temper wrong{.right_percent = 0};

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_drafter_nothing_is_asked) {
  stage engine{drafting_engine()};
  BOOST_REQUIRE(engine.admit({.prompt = 6, .max_tokens = 5}));
  BOOST_TEST(engine.run() == 5u);
  BOOST_TEST(engine.sched.stats().drafting.plans == 0u);
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(the_step_that_ends_the_prompt_is_followed_by_the_first_draft) {
  stage engine{drafting_engine()};
  engine.draft(oracle);
  BOOST_REQUIRE(engine.admit({.prompt = 6, .max_tokens = 20}));
  engine.step();
  BOOST_REQUIRE(engine.last_draft);
  const auto& rows = engine.last_draft->sequences.at(0);
  BOOST_TEST(rows.position == 0u);
  BOOST_TEST(rows.count == 6u);
  BOOST_TEST(rows.valid_from == 0u);
  BOOST_TEST(rows.drafts == 4u);
  BOOST_TEST(rows.anchor == engine.streams[1].back());
  engine.step();
  BOOST_TEST(engine.rows(1)->position == 6u);
  BOOST_TEST(engine.rows(1)->count == 5u);
  BOOST_TEST(engine.rows(1)->drafts == 4u);
}

BOOST_AUTO_TEST_CASE(an_oracle_brings_all_drafts_and_one_more_and_a_wrong_one_a_token_a_step) {
  const ask a{.prompt = 6, .max_tokens = 41};
  stage lucky{drafting_engine()};
  lucky.draft(oracle);
  BOOST_REQUIRE(lucky.admit(a));
  BOOST_TEST(lucky.run() == 9u);  // the prompt, then five tokens a step
  stage unlucky{drafting_engine()};
  unlucky.draft(wrong);
  BOOST_REQUIRE(unlucky.admit(a));
  BOOST_TEST(unlucky.run() == 41u);
  for (auto* engine : {&lucky, &unlucky}) {
    BOOST_TEST(engine->streams[1] == solo(a), per_element());
    BOOST_TEST(engine->healthy());
  }
}

BOOST_AUTO_TEST_CASE(context_rows_are_those_of_committed_tokens_alone) {
  stage engine{drafting_engine()};
  engine.draft({.right_percent = 60});
  BOOST_REQUIRE(engine.admit({.prompt = 6, .max_tokens = 60}));
  std::uint32_t next = 0;
  while (engine.step()) {
    if (!engine.last_draft) continue;
    const auto& rows = engine.last_draft->sequences.at(0);
    BOOST_TEST(rows.position == next);
    BOOST_TEST(rows.count <= 6u);
    next = rows.position + rows.count;
  }
  BOOST_TEST(engine.drafter->seen() == engine.drafter->in_reach());
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(a_prompt_in_chunks_writes_context_rows_and_drafts_nothing_before_its_end) {
  auto config = drafting_engine();
  config.max_num_batched_tokens = 9;
  config.window = 64;
  stage engine{config};
  engine.draft(oracle);
  BOOST_REQUIRE(engine.admit({.prompt = 40, .max_tokens = 9}));
  std::uint32_t next = 0;
  while (next < 40) {
    BOOST_REQUIRE(engine.step());
    BOOST_REQUIRE(engine.last_draft);
    const auto& rows = engine.last_draft->sequences.at(0);
    BOOST_TEST(rows.position == next);
    next += rows.count;
    BOOST_TEST(rows.drafts == (next < 40 ? 0u : 4u));
    BOOST_TEST(rows.valid_from == 0u);
  }
  engine.run();
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(rows_that_no_window_will_see_are_not_written_without_a_prefix_cache) {
  for (const bool caching : {false, true}) {
    auto config = drafting_engine();
    config.prefix_caching = caching;
    stage engine{config};
    engine.draft(oracle);
    BOOST_REQUIRE(engine.admit({.prompt = 100, .max_tokens = 2}));
    engine.step();
    BOOST_REQUIRE(engine.last_draft);
    BOOST_TEST(engine.last_draft->sequences.at(0).count == (caching ? 100u : 23u));
    engine.run();
    BOOST_TEST(engine.healthy());
  }
}

BOOST_AUTO_TEST_CASE(no_more_is_drafted_than_max_tokens_and_the_client_allow) {
  stage engine{drafting_engine(15)};
  engine.draft(oracle);
  BOOST_REQUIRE(engine.admit({.id = 1, .max_tokens = 8}));
  BOOST_REQUIRE(engine.admit({.id = 2, .max_tokens = 100, .window = 6}));
  BOOST_REQUIRE(engine.admit({.id = 3, .max_tokens = 2}));
  engine.step();
  engine.step();
  BOOST_TEST(engine.rows(1)->drafts == 6u);  // one token came with the prompt, one is the bonus
  BOOST_TEST(engine.rows(2)->drafts == 4u);
  BOOST_TEST(engine.rows(3)->drafts == 0u);
  BOOST_TEST(engine.finished.contains(1));
  BOOST_TEST(engine.sched.stats().parked == 1u);
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(a_cached_prefix_brings_its_context_rows) {
  auto config = drafting_engine();
  config.prefix_caching = true;
  stage engine{config};
  engine.draft(oracle);
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 30, .max_tokens = 1}));
  engine.run();
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 30, .max_tokens = 9}));
  engine.step();
  BOOST_TEST(engine.rows(2)->position == 28u);
  BOOST_REQUIRE(engine.last_draft);
  BOOST_TEST(engine.last_draft->sequences.at(0).valid_from == 20u);  // a whole window and more
  engine.run();
  BOOST_TEST(engine.drafter->seen() == engine.drafter->in_reach());
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(a_prefix_that_was_filled_without_the_drafter_is_masked_and_heals) {
  auto config = drafting_engine();
  config.prefix_caching = true;
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 30, .max_tokens = 1}));
  engine.run();
  engine.draft(oracle);
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 30, .max_tokens = 30}));
  engine.step();
  BOOST_REQUIRE(engine.last_draft);
  BOOST_TEST(engine.last_draft->sequences.at(0).valid_from == 28u);
  std::uint32_t valid_from = 0;
  while (engine.step()) {
    if (engine.last_draft) valid_from = engine.last_draft->sequences.at(0).valid_from;
  }
  BOOST_TEST(valid_from > 28u);  // it is the window that ends it now
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(a_dead_drafter_leaves_plain_decoding_and_a_new_one_goes_on_behind_the_gap) {
  const ask a{.prompt = 6, .max_tokens = 60};
  auto config = drafting_engine();
  config.window = 64;
  stage engine{config};
  engine.draft(oracle);
  BOOST_REQUIRE(engine.admit(a));
  for (int i = 0; i < 3; ++i) engine.step();
  engine.sched.drafter_lost();
  const auto before = engine.streams[1].size();
  for (int i = 0; i < 4; ++i) engine.step();
  BOOST_TEST(engine.streams[1].size() - before <= 8u);  // drafts at hand, then one a step
  engine.sched.drafter_ready();
  engine.step();
  BOOST_REQUIRE(engine.last_draft);
  const auto& rows = engine.last_draft->sequences.at(0);
  BOOST_TEST(rows.valid_from == rows.position);
  engine.run();
  BOOST_TEST(engine.streams[1] == solo(a), per_element());
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(a_late_drafter_is_not_waited_for_and_asked_again_once_it_answered) {
  const ask a{.prompt = 6, .max_tokens = 30};
  stage engine{drafting_engine()};
  engine.draft(oracle);
  BOOST_REQUIRE(engine.admit(a));
  const auto plan = engine.sched.plan(engine.now);
  engine.drafter->follow(*plan);
  engine.sched.commit(engine.executor.run(*plan), engine.now);
  const auto asked = engine.sched.plan_drafts(engine.now);
  BOOST_REQUIRE(asked);
  BOOST_TEST(!engine.sched.plan(engine.now));
  BOOST_TEST(!engine.sched.idle());
  engine.now = engine.now + milliseconds{999};
  BOOST_TEST(!engine.sched.plan(engine.now));
  engine.now = engine.now + milliseconds{2};
  const auto next = engine.sched.plan(engine.now);
  BOOST_REQUIRE(next);
  BOOST_TEST(next->sequences[0].drafts == 0u);
  engine.sched.commit(engine.executor.run(*next), engine.now);
  BOOST_TEST(!engine.sched.plan_drafts(engine.now));
  BOOST_TEST(engine.sched.stats().drafting.plans_given_up == 1u);
  BOOST_TEST(!engine.sched.stats().drafting.present);
  engine.sched.take_drafts(engine.drafter->run(*asked, engine.executor, false), engine.now);
  BOOST_TEST(engine.sched.stats().drafting.present);
  engine.step();
  BOOST_TEST(engine.last_draft.has_value());
  engine.run();
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(a_cancel_between_verify_and_draft_gives_everything_back) {
  stage engine{drafting_engine()};
  engine.draft(oracle);
  BOOST_REQUIRE(engine.admit({.id = 1, .max_tokens = 30, .choices = 2}));
  engine.step();
  const auto plan = engine.sched.plan(engine.now);
  engine.drafter->follow(*plan);
  engine.sched.commit(engine.executor.run(*plan), engine.now);
  const auto asked = engine.sched.plan_drafts(engine.now);
  BOOST_REQUIRE(asked);
  BOOST_TEST(engine.sched.cancel(request_id{1}, cancel_reason::gone) == 2u);
  BOOST_TEST(engine.used(kv_group::sliding) > 0u);  // the drafter may be writing there
  engine.sched.take_drafts(engine.drafter->run(*asked, engine.executor), engine.now);
  BOOST_TEST(engine.sched.idle());
  BOOST_TEST(engine.used(kv_group::full) + engine.used(kv_group::sliding) == 0u);
}

BOOST_AUTO_TEST_CASE(absurd_proposals_are_cut_off_where_they_begin) {
  const ask a{.prompt = 6, .max_tokens = 40};
  stage engine{drafting_engine()};
  engine.draft({.right_percent = 100, .absurd_percent = 50});
  BOOST_REQUIRE(engine.admit(a));
  while (engine.step()) {
    for (const auto token : engine.last.tokens) BOOST_TEST((token >= 0 && token < 64));
  }
  BOOST_TEST(engine.streams[1] == solo(a), per_element());
}

BOOST_AUTO_TEST_CASE(drafts_preempt_nobody) {
  auto config = drafting_engine(15);
  config.blocks = {8, 64};
  stage engine{config};
  engine.draft(oracle);
  BOOST_REQUIRE(engine.admit({.id = 1, .prompt = 8, .max_tokens = 9}));
  BOOST_REQUIRE(engine.admit({.id = 2, .prompt = 8, .max_tokens = 9}));
  engine.run();
  BOOST_TEST(engine.sched.stats().preemptions == 0u);
  BOOST_TEST(engine.finished.size() == 2u);
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(prompts_keep_half_of_the_rows_beside_drafts) {
  auto config = drafting_engine(15);
  config.max_num_batched_tokens = 40;
  stage engine{config};
  engine.draft(oracle);
  for (std::uint64_t id = 1; id <= 4; ++id) {
    BOOST_REQUIRE(engine.admit({.id = id, .prompt = 2, .max_tokens = 100}));
  }
  engine.step();
  BOOST_REQUIRE(engine.admit({.id = 9, .prompt = 100, .max_tokens = 1}));
  engine.step();
  BOOST_TEST(engine.last.tokens.size() <= 40u);
  BOOST_TEST(engine.rows(9)->count >= 16u);
  engine.run();
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_CASE(the_counts_of_a_mixed_run_agree_with_one_another) {
  stage engine{drafting_engine(7)};
  engine.draft({.right_percent = 70});
  for (std::uint64_t id = 1; id <= 20; ++id) {
    BOOST_REQUIRE(
        engine.admit({.id = id, .prompt = 5, .max_tokens = static_cast<std::uint32_t>(id)}));
  }
  std::uint64_t sampled = 0;
  while (engine.step()) {
    for (const auto& rows : engine.last.sequences) sampled += rows.sample;
  }
  const auto stats = engine.sched.stats();
  const auto& d = stats.drafting;
  std::uint64_t accepted = 0, drafted = 0, rounds = 0, by_length = 0;
  for (std::size_t i = 0; i < d.accepted_at.size(); ++i) {
    accepted += d.accepted_at[i];
    drafted += d.drafted_at[i];
    BOOST_TEST(d.accepted_at[i] <= d.drafted_at[i]);
    if (i > 0) BOOST_TEST(d.drafted_at[i] <= d.drafted_at[i - 1]);
  }
  for (std::size_t k = 0; k < d.lengths.size(); ++k) {
    by_length += k * d.lengths[k];
    if (k > 0) rounds += d.lengths[k];
  }
  BOOST_TEST(accepted == d.accepted);
  BOOST_TEST(drafted == d.drafted);
  BOOST_TEST(by_length == d.drafted);
  BOOST_TEST(rounds == d.rounds);
  BOOST_TEST(d.lengths[0] + d.rounds == sampled);
  BOOST_TEST(stats.generated_tokens + d.discarded == sampled + d.accepted);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
