#include "engine/watchdog.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>

namespace glimmer {
namespace {

using std::chrono::seconds;

engine_state state_since(time_point last_progress) {
  engine_state out{.phase = engine_phase::serving, .scheduler = {}, .progress_max = seconds{5}};
  out.scheduler.has_work = true;
  out.scheduler.running = 3;
  out.scheduler.last_progress = last_progress;
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(watchdog_test)

BOOST_AUTO_TEST_CASE(work_without_a_step_is_told_once_and_so_is_its_end) {
  const time_point start{seconds{100}};
  watchdog dog;
  const auto state = state_since(start);
  BOOST_TEST(!dog.look(state, start + seconds{5}));
  BOOST_TEST(healthy(state, start + seconds{5}));
  const auto found = dog.look(state, start + seconds{6});
  BOOST_TEST_REQUIRE(found.has_value());
  BOOST_TEST(found->stuck);
  BOOST_TEST(found->state.find("running=3") != std::string::npos, found->state);
  BOOST_TEST(!healthy(state, start + seconds{6}));
  BOOST_TEST(!dog.look(state, start + seconds{60}));
  const auto moved = dog.look(state_since(start + seconds{60}), start + seconds{61});
  BOOST_TEST_REQUIRE(moved.has_value());
  BOOST_TEST(!moved->stuck);
}

BOOST_AUTO_TEST_CASE(an_idle_engine_is_never_stuck) {
  const time_point start{seconds{100}};
  watchdog dog;
  auto state = state_since(start);
  state.scheduler.has_work = false;
  BOOST_TEST(!dog.look(state, start + std::chrono::hours{24}));
  BOOST_TEST(healthy(state, start + std::chrono::hours{24}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
