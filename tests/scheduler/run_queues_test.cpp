#include <boost/test/unit_test.hpp>
#include <list>

#include "scheduler/run_queues.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(run_queues_test)

namespace {

struct crowd {
  sequence& add(queue_key key, bool holds_blocks = false) {
    auto& s = people.emplace_back();
    s.state = sequence_state::ended;
    s.key = key;
    if (holds_blocks) s.blocks.groups[0].blocks = {0};
    return s;
  }
  std::list<sequence> people;
};

}  // namespace

BOOST_AUTO_TEST_CASE(lines_are_ordered_by_priority_and_then_by_arrival) {
  crowd people;
  run_queues queues;
  auto& late = people.add({.priority = 0, .arrival = 3});
  auto& early = people.add({.priority = 0, .arrival = 2});
  auto& urgent = people.add({.priority = -1, .arrival = 9});
  for (auto* s : {&late, &early, &urgent}) queues.wait(*s);
  BOOST_TEST(*queues.waiting().begin() == &urgent);
  for (auto* s : {&late, &early, &urgent}) queues.run(*s);
  BOOST_TEST(queues.waiting().empty());
  BOOST_TEST(queues.running()[1] == &early);
  BOOST_TEST(queues.running()[2] == &late);
}

BOOST_AUTO_TEST_CASE(the_last_in_order_yields_and_never_somebody_before_the_needy) {
  crowd people;
  run_queues queues;
  auto& first = people.add({.arrival = 1}, true);
  auto& second = people.add({.arrival = 2}, true);
  auto& third = people.add({.arrival = 3}, true);
  for (auto* s : {&first, &second, &third}) queues.run(*s);
  BOOST_TEST(queues.victim_for(first) == &third);
  BOOST_TEST(queues.victim_for(second) == &third);
  BOOST_TEST(queues.victim_for(third) == nullptr);
}

BOOST_AUTO_TEST_CASE(parked_sequences_yield_first_whatever_their_age) {
  crowd people;
  run_queues queues;
  auto& parked = people.add({.arrival = 1}, true);
  auto& first = people.add({.arrival = 2}, true);
  auto& second = people.add({.arrival = 3}, true);
  queues.run(first);
  queues.run(second);
  queues.park(parked, {});
  BOOST_TEST(queues.victim_for(first) == &parked);
  queues.blocks_taken(parked);
  BOOST_TEST(queues.victim_for(first) == &second);
}

BOOST_AUTO_TEST_CASE(a_waiting_sequence_with_blocks_can_yield_too) {
  crowd people;
  run_queues queues;
  auto& first = people.add({.arrival = 1}, true);
  auto& second = people.add({.arrival = 2}, true);
  queues.run(first);
  queues.wait(second);
  BOOST_TEST(queues.victim_for(first) == &second);
  BOOST_TEST(queues.resting_victim_for(second) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_follower_that_leaves_is_forgotten_by_its_leader) {
  crowd people;
  run_queues queues;
  auto& leader = people.add({.arrival = 1});
  auto& follower = people.add({.arrival = 2});
  queues.wait(leader);
  queues.follow(follower, leader);
  BOOST_TEST(queues.following() == 1u);
  queues.leave(follower);
  BOOST_TEST(leader.followers.empty());
  BOOST_TEST(queues.following() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
