#include "scheduler/acceptance_record.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/simulation/dice.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(acceptance_record_test)

BOOST_AUTO_TEST_CASE(a_new_record_hopes) {
  for (const auto chance : acceptance_record{0.9f}.chances()) {
    BOOST_TEST(chance > 0.5f);
    BOOST_TEST(chance < 1.0f);
  }
}

BOOST_AUTO_TEST_CASE(chances_are_of_a_position_whose_predecessors_were_right) {
  acceptance_record record{0.99f};
  dice chance{11};
  for (int i = 0; i < 4000; ++i) {
    std::uint32_t accepted = 0;
    while (accepted < 8 && chance.percent(accepted < 3 ? 90 : 40)) ++accepted;
    record.observe({.drafted = 8, .accepted = accepted});
  }
  const auto chances = record.chances();
  for (int i = 0; i < 3; ++i) BOOST_TEST(std::abs(chances[i] - 0.9f) < 0.1f);
  for (int i = 3; i < 5; ++i) BOOST_TEST(std::abs(chances[i] - 0.4f) < 0.15f);
  BOOST_TEST(chances[14] < 0.7f);  // never tried: like those before it
}

BOOST_AUTO_TEST_CASE(what_failed_all_the_time_has_no_chance_and_what_was_cut_says_nothing) {
  acceptance_record record{0.9f};
  for (int i = 0; i < 50; ++i) record.observe({.drafted = 4, .accepted = 0});
  BOOST_TEST(record.chances()[0] < 0.2f);
  const auto before = record.chances();
  record.observe({.drafted = 0, .accepted = 0});
  BOOST_TEST((record.chances() == before));
}

BOOST_AUTO_TEST_CASE(a_sequence_of_its_own_departs_from_the_others) {
  acceptance_record everybody{0.98f};
  for (int i = 0; i < 50; ++i) everybody.observe({.drafted = 4, .accepted = 1});
  acceptance_record mine{0.9f};
  const auto others = everybody.chances();
  BOOST_TEST((mine.chances(others) == others));
  for (int i = 0; i < 20; ++i) mine.observe({.drafted = 4, .accepted = 4});
  BOOST_TEST(mine.chances(others)[1] > 0.6f);
  BOOST_TEST(others[1] < 0.3f);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
