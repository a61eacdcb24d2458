#include "engine/draft_alarm.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(draft_alarm_test)

BOOST_AUTO_TEST_CASE(known_fault_a_useless_drafter_is_named_once) {
  draft_alarm alarm;
  drafting_stats stats{.configured = true, .acceptance_floor = 1.05};
  stats.rounds = 63;
  BOOST_TEST(!alarm.look(stats));
  stats.rounds = 70;
  stats.accepted = 2;
  const auto warning = alarm.look(stats);
  BOOST_REQUIRE(warning);
  BOOST_TEST(warning->find("1.03 tokens each") != std::string::npos);
  stats.rounds = 700;
  BOOST_TEST(!alarm.look(stats));
}

BOOST_AUTO_TEST_CASE(a_useful_one_is_not_named_until_it_becomes_useless) {
  draft_alarm alarm;
  drafting_stats stats{.configured = true, .acceptance_floor = 1.5};
  stats.rounds = 100;
  stats.accepted = 300;
  BOOST_TEST(!alarm.look(stats));
  stats.rounds = 200;
  stats.accepted = 310;
  BOOST_TEST(alarm.look(stats).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
