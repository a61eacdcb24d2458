#include "net/loop.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include "net/signals.hpp"
#include "net/timer.hpp"
#include "net/wakeup.hpp"
#include "tests/net/loopback.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(loop_cases)

BOOST_AUTO_TEST_CASE(posted_work_runs_on_the_loop_in_order) {
  event_loop loop;
  std::vector<int> ran;
  std::thread other{[&] {
    for (int i = 0; i < 100; ++i) loop.post([&ran, i] { ran.push_back(i); });
    loop.post([&loop] { loop.stop(); });
  }};
  loop.run();
  other.join();
  BOOST_REQUIRE(ran.size() == 100u);
  BOOST_TEST(ran.front() == 0);
  BOOST_TEST(ran.back() == 99);
}

BOOST_AUTO_TEST_CASE(posted_work_may_post_again) {
  event_loop loop;
  int left = 3;
  std::function<void()> again = [&] {
    if (--left > 0) loop.post(again);
  };
  loop.post(again);
  BOOST_TEST(drive(loop, [&] { return left == 0; }));
}

BOOST_AUTO_TEST_CASE(a_bell_rings_from_any_thread_and_outlives_its_wakeup) {
  event_loop loop;
  int rings = 0;
  auto wake = std::make_optional<wakeup>(loop, [&] { ++rings; });
  auto rope = wake->make_bell();
  std::thread other{[rope]() mutable { rope.ring(); }};
  BOOST_TEST(drive(
      loop, [&] { return rings > 0; }, 10'000'000));
  other.join();
  wake.reset();
  BOOST_TEST(!rope.ring());
  loop.poll();
  BOOST_TEST(rings == 1);
}

BOOST_AUTO_TEST_CASE(a_wakeup_may_be_destroyed_by_its_own_ring) {
  event_loop loop;
  std::optional<wakeup> wake;
  int rings = 0;
  wake.emplace(loop, [&] {
    ++rings;
    wake.reset();
  });
  wake->ring();
  BOOST_TEST(drive(loop, [&] { return rings == 1; }));
}

BOOST_AUTO_TEST_CASE(timers_fire_until_they_are_stopped) {
  event_loop loop;
  int ticks = 0;
  timer often{loop, [&] {
                if (++ticks == 3) often.stop(), loop.stop();
              }};
  often.every(std::chrono::milliseconds{1});
  loop.run();
  BOOST_TEST(ticks == 3);
  timer once{loop, [&] { loop.stop(); }};
  const auto before = loop.now();
  once.once(std::chrono::milliseconds{5});
  loop.run();
  BOOST_TEST((loop.now() - before >= std::chrono::milliseconds{5}));
}

BOOST_AUTO_TEST_CASE(a_signal_arrives_as_a_call) {
  event_loop loop;
  int got = 0;
  signals watched{loop, {SIGTERM, SIGHUP}, [&](int number) { got = number; }};
  std::raise(SIGTERM);
  BOOST_TEST(drive(loop, [&] { return got != 0; }));
  BOOST_TEST(got == SIGTERM);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
