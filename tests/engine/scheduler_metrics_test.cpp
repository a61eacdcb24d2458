#include "engine/scheduler_metrics.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>

#include "tests/engine/counted.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(scheduler_metrics_test)

BOOST_AUTO_TEST_CASE(gauges_tell_the_state_as_it_is) {
  metrics told;
  scheduler_stats stats{.running = 3, .waiting = 2};
  stats.blocks = {block_counts{.all = 100, .free = 40, .cached = 10, .used = 50},
                  block_counts{.all = 10, .free = 2, .cached = 0, .used = 8}};
  count_scheduler(told, stats, {});
  stats.running = 1;
  count_scheduler(told, stats, stats);
  BOOST_TEST(counted(told, metric::requests_running) == 1);
  BOOST_TEST(counted(told, metric::requests_waiting) == 2);
  BOOST_TEST(counted(told, metric::kv_blocks, {"active"}) == 58);
  BOOST_TEST(counted(told, metric::kv_blocks, {"full", "free"}) == 40);
  BOOST_TEST(counted(told, metric::kv_cache_usage) == 0.8);  // of the fuller group
}

BOOST_AUTO_TEST_CASE(what_grows_is_counted_by_its_growth) {
  metrics told;
  scheduler_stats before;
  for (const std::uint64_t preempted : {2u, 2u, 5u}) {
    scheduler_stats now;
    now.preemptions = preempted;
    count_scheduler(told, now, std::exchange(before, now));
  }
  BOOST_TEST(counted(told, metric::preemptions) == 5);
}

BOOST_AUTO_TEST_CASE(prompt_tokens_are_told_by_where_they_came_from) {
  metrics told;
  const scheduler_stats first{.parked = 4, .prompt_tokens = 100, .cached_tokens = 0};
  const scheduler_stats second{.parked = 1, .prompt_tokens = 180, .cached_tokens = 64};
  count_scheduler(told, first, {});
  count_scheduler(told, second, first);
  BOOST_TEST(counted(told, metric::prompt_tokens_by_source, {"local_compute"}) == 116);
  BOOST_TEST(counted(told, metric::prompt_tokens_by_source, {"local_cache_hit"}) == 64);
  BOOST_TEST(counted(told, metric::prefix_cache_queries) == 180);
  BOOST_TEST(counted(told, metric::prefix_cache_hits) == 64);
  BOOST_TEST(counted(told, metric::parked_sequences) == 1);
}

BOOST_AUTO_TEST_CASE(mail_is_told_by_actor_and_number) {
  metrics into;
  count_mail(into, 4, metrics_source::scheduler);
  count_mail(into, 3, metrics_source::parser + 1);
  count_mail(into, 2, metrics_source::parser + 1);
  count_mail(into, 7, metrics_source::tokenizer);
  count_mail(into, 9, metrics_source::frontend + 12);
  BOOST_TEST(counted(into, metric::actor_mailbox_depth, {"scheduler"}) == 4);
  BOOST_TEST(counted(into, metric::actor_mailbox_depth, {"parser", "1"}) == 2);
  BOOST_TEST(counted(into, metric::actor_mailbox_depth, {"tokenizer", "0"}) == 7);
  BOOST_TEST(counted(into, metric::actor_mailbox_depth, {"frontend", "12"}) == 9);
}

BOOST_AUTO_TEST_CASE(pools_of_no_block_are_not_full) {
  metrics told;
  count_scheduler(told, {}, {});
  BOOST_TEST(counted(told, metric::kv_cache_usage) == 0);
}

BOOST_AUTO_TEST_CASE(drafting_is_told_where_it_is_configured_with_its_denominators) {
  metrics silent;
  count_scheduler(silent, {}, {});
  BOOST_TEST(counted(silent, metric::drafts) == 0);
  metrics told;
  scheduler_stats stats;
  auto& d = stats.drafting;
  d.configured = d.present = true;
  d.rounds = 3;
  d.drafted = 5;
  d.accepted = 2;
  d.drafted_at = {3, 2};
  d.accepted_at = {2, 0};
  d.lengths = {7, 1, 2};
  d.discarded = 1;
  d.plans = 9;
  d.plans_given_up = 4;
  d.draft_time = std::chrono::milliseconds{500};
  count_scheduler(told, stats, {});
  count_scheduler(told, stats, stats);
  BOOST_TEST(counted(told, metric::drafts) == 3);
  BOOST_TEST(counted(told, metric::draft_tokens) == 5);
  BOOST_TEST(counted(told, metric::draft_tokens_accepted) == 2);
  BOOST_TEST(counted(told, metric::draft_tokens_accepted_per_position, {"0"}) == 2);
  BOOST_TEST(counted(told, metric::drafts_per_position, {"1"}) == 2);
  BOOST_TEST(counted(told, metric::draft_length) == 10);
  BOOST_TEST(counted(told, metric::draft_tokens_discarded) == 1);
  BOOST_TEST(counted(told, metric::draft_plans, {"answered"}) == 5);
  BOOST_TEST(counted(told, metric::draft_plans, {"given_up"}) == 4);
  BOOST_TEST(counted(told, metric::draft_seconds, {"draft"}) == 0.5);
  BOOST_TEST(counted(told, metric::drafter_present) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
