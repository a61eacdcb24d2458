#include "scheduler/fair_share.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/scheduler/stage.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(fair_share_test)

BOOST_AUTO_TEST_CASE(one_client_is_served_in_the_order_of_arrival) {
  fair_share line;
  std::uint64_t last = line.place("", 5);
  for (const std::uint64_t tokens : {1, 0, 100, 3}) {
    const auto next = line.place("", tokens);
    BOOST_TEST(next > last);
    last = next;
  }
}

BOOST_AUTO_TEST_CASE(a_single_request_passes_the_rest_of_a_flood) {
  fair_share line;
  std::vector<std::uint64_t> flood;
  for (int i = 0; i < 100; ++i) flood.push_back(line.place("flood", 1000));
  line.served(flood[0]);
  line.served(flood[1]);
  const auto single = line.place("single", 1000);
  BOOST_TEST(single < flood[2]);
}

// Two clients that always have something waiting get the same tokens, whatever their sizes.
BOOST_AUTO_TEST_CASE(busy_clients_get_equal_tokens) {
  const auto seed = std::random_device{}();
  std::mt19937 random{seed};
  fair_share line;
  struct entry {
    std::uint64_t place;
    std::string client;
    std::uint64_t tokens;
  };
  std::vector<entry> waiting;
  const auto send = [&](const std::string& client) {
    const std::uint64_t most = client == "small" ? 50 : 900;
    const std::uint64_t tokens = 1 + random() % most;
    waiting.push_back({line.place(client, tokens), client, tokens});
  };
  for (int i = 0; i < 20; ++i) send("small"), send("big");
  std::map<std::string, double> served;
  for (int i = 0; i < 5000; ++i) {
    const auto next = std::ranges::min_element(waiting, {}, &entry::place);
    const auto client = next->client;
    served[client] += static_cast<double>(next->tokens);
    line.served(next->place);
    waiting.erase(next);
    send(client);
  }
  BOOST_TEST(served["small"] / served["big"] > 0.9, "seed " << seed);
  BOOST_TEST(served["small"] / served["big"] < 1.1, "seed " << seed);
}

BOOST_AUTO_TEST_CASE(passing_clients_are_forgotten_and_a_flood_is_not) {
  fair_share line;
  std::uint64_t flood = 0;
  for (int i = 0; i < 1000; ++i) flood = line.place("flood", 1000);
  for (int i = 0; i < 100'000; ++i) line.served(line.place(std::to_string(i), 10));
  BOOST_TEST(line.clients() <= fair_share::clients_max);
  BOOST_TEST(line.place("new", 10) < flood);
}

// One run slot, a flood of twenty and one request of somebody else behind it: it is the next one.
BOOST_AUTO_TEST_CASE(known_fault_a_flood_of_one_key_delays_the_single_request_of_another) {
  auto config = small_config();
  config.max_num_seqs = 1;
  stage engine{config};
  const auto admit = [&](std::uint64_t id, const char* key) {
    auto request = stage::request_of({.id = id, .max_tokens = 4});
    request.fairness_key = key;
    BOOST_REQUIRE(engine.sched.admit(request, engine.now));
  };
  for (std::uint64_t id = 1; id <= 20; ++id) admit(id, "flood");
  engine.step();
  admit(100, "single");
  while (!engine.finished.contains(100) && engine.step()) {
  }
  BOOST_TEST_REQUIRE(engine.finished.contains(100));
  BOOST_TEST(engine.finished.size() == 2u);
  engine.run();
  BOOST_TEST(engine.finished.size() == 21u);
  BOOST_TEST(engine.healthy());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
