#include "actors/loop_actor.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/all.hpp>
#include <thread>
#include <vector>

namespace glimmer {
namespace {

constexpr auto patience = std::chrono::minutes{2};

/// A loop actor on this thread that keeps the numbers it is sent and answers with the next one.
struct keeper {
  caf::actor_system_config config;
  caf::actor_system system{config};
  event_loop loop;
  caf::actor handle = system.spawn<loop_actor, caf::hidden>(&loop);
  loop_actor& self = *static_cast<loop_actor*>(caf::actor_cast<caf::abstract_actor*>(handle));
  std::vector<int> kept;
  bool closed = false;
  bool elsewhere = false;  // handled by another thread than the loop's

  keeper() {
    self.become(caf::message_handler{[this, home = std::this_thread::get_id()](int number) {
                                       elsewhere |= std::this_thread::get_id() != home;
                                       kept.push_back(number);
                                       return number + 1;
                                     },
                                     [this](caf::ok_atom) { loop.stop(); }});
  }
  ~keeper() { close(); }
  void close() {
    if (!std::exchange(closed, true)) self.close_mailbox();
  }

  /// The answer to `number`, or 0 and the error.
  std::pair<int, caf::error> ask(int number) {
    std::pair<int, caf::error> out;
    const caf::scoped_actor asker{system};
    asker->request(handle, patience, number)
        .receive([&](int answer) { out.first = answer; },
                 [&](caf::error& why) { out.second = std::move(why); });
    return out;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(loop_actor_test)

BOOST_AUTO_TEST_CASE(requests_are_answered_on_the_loops_thread) {
  keeper k;
  std::pair<int, caf::error> got;
  std::thread asker{[&] {
    got = k.ask(41);
    caf::anon_send(k.handle, caf::ok_atom::value);
  }};
  k.loop.run();
  asker.join();
  BOOST_TEST(got.first == 42);
  BOOST_TEST(!k.elsewhere);
}

BOOST_AUTO_TEST_CASE(mail_of_many_threads_keeps_each_ones_order) {
  keeper k;
  constexpr int threads = 4;
  constexpr int letters = 500;
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < letters; ++i) caf::anon_send(k.handle, t * letters + i);
    });
  }
  while (k.kept.size() < threads * letters) k.loop.wait();
  for (auto& writer : writers) writer.join();
  std::vector<int> next(threads);
  for (const int letter : k.kept) BOOST_TEST(letter % letters == next[letter / letters]++);
  BOOST_TEST(!k.elsewhere);
}

BOOST_AUTO_TEST_CASE(a_closed_mailbox_bounces_requests_and_drops_mail) {
  keeper k;
  caf::anon_send(k.handle, 1);
  k.close();
  BOOST_TEST(k.kept == std::vector<int>{1}, boost::test_tools::per_element());  // came in time
  const auto [answer, why] = k.ask(2);
  BOOST_TEST(answer == 0);
  BOOST_TEST((why == caf::sec::request_receiver_down));
  caf::anon_send(k.handle, 3);
  BOOST_TEST(k.kept.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
