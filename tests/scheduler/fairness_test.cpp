// How long anybody may be kept waiting, whatever the others send: checked on random crowds.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/scheduler/stage.hpp"
#include "tests/simulation/dice.hpp"

namespace glimmer {
namespace {

constexpr std::uint32_t clients = 4;
constexpr std::uint32_t cost_max = 60 + 20;  // prompt and answer of the largest request

/// A request in line, and what each client had been served when it came.
struct waiting {
  std::uint32_t client = 0;
  std::uint64_t cost = 0;
  std::uint64_t own_backlog = 0;  ///< of its client, in front of it
  std::array<std::uint64_t, clients> served{};
};

/// Clients who send at random, one of them much more than the others, to a small engine.
struct crowd {
  explicit crowd(std::uint64_t seed) : chance{seed}, engine{draw_config(chance)} {}

  static scheduler_config draw_config(dice& chance) {
    auto config = small_config();
    config.max_num_seqs = chance.in({1, 4});
    config.max_partial_prefills = chance.in({1, 4});
    config.blocks = {chance.in({24, 90}), chance.in({24, 90})};
    config.prefix_caching = chance.percent(50);
    return config;
  }

  void send(std::uint32_t client) {
    const std::uint64_t id = ++requests;
    const ask what{.id = id, .prompt = chance.in({1, 60}), .max_tokens = chance.in({1, 20})};
    auto request = stage::request_of(what);
    request.fairness_key = "client " + std::to_string(client);
    BOOST_REQUIRE(engine.sched.admit(request, {}));
    waiting one{.client = client, .cost = what.prompt + what.max_tokens, .served = served};
    for (const auto& [other, w] : line) one.own_backlog += w.client == client ? w.cost : 0;
    line.emplace(id, one);
  }

  void step() {
    engine.step();
    for (const auto& start : engine.last.started) {
      const auto at = line.find(start.id.value);
      if (at == line.end()) continue;  // it yielded, and comes back
      check(at->second);
      served[at->second.client] += at->second.cost;
      line.erase(at);
    }
    engine.last.started.clear();
  }

  /// Others get no more meanwhile than what stands before this request in its own client's line,
  /// and one request at either end.
  void check(const waiting& one) {
    for (std::uint32_t other = 0; other < clients; ++other) {
      if (other == one.client) continue;
      const auto meanwhile = served[other] - one.served[other];
      BOOST_REQUIRE(meanwhile <= one.own_backlog + 2 * cost_max);
      if (one.own_backlog == 0) ++singles;
    }
  }

  dice chance;
  stage engine;
  std::map<std::uint64_t, waiting> line;
  std::array<std::uint64_t, clients> served{};
  std::uint64_t requests = 0;
  std::uint64_t singles = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(fairness_test)

BOOST_AUTO_TEST_CASE(nobody_waits_for_more_than_their_own_backlog_and_a_request_of_each_other) {
  std::uint64_t singles = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      crowd c{seed};
      const auto flooder = c.chance.in({0, clients - 1});
      for (int i = 0; i < 400; ++i) {
        while (c.chance.percent(40)) c.send(c.chance.percent(70) ? flooder : c.chance.in({0, 3}));
        c.step();
      }
      while (!c.engine.sched.idle()) c.step();
      BOOST_TEST(c.line.empty());
      BOOST_TEST(c.engine.finished.size() == c.requests);
      BOOST_TEST(c.engine.healthy());
      singles += c.singles;
    }
  }
  BOOST_TEST(singles > 1000u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
