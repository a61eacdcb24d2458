#include "engine/step_routing.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

#include "base/random.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(step_routing_test)

BOOST_AUTO_TEST_CASE(a_short_body_is_never_read_behind_a_long_one) {
  for (std::uint32_t tokenizers = 1; tokenizers <= 7; ++tokenizers) {
    std::set<std::size_t> by_long, by_short;
    for (std::uint64_t id = 1; id < 100; ++id) {
      by_long.insert(tokenizer_of({id}, 200'000, tokenizers));
      by_short.insert(tokenizer_of({id}, 300, tokenizers));
    }
    auto all = by_long;
    all.merge(std::set{by_short});
    BOOST_TEST(all.size() == tokenizers);  // nobody is idle for ever
    BOOST_TEST(*all.rbegin() == tokenizers - 1);
    if (tokenizers > 1) BOOST_TEST(by_long.size() + by_short.size() == tokenizers);
  }
}

BOOST_AUTO_TEST_CASE(a_parser_without_a_share_gets_nothing) {
  const auto shares = route_step({{{.id = {1}, .request = {4}}}, {{.id = {2}, .request = {7}}}}, 3);
  BOOST_REQUIRE(shares.size() == 3u);
  BOOST_TEST(!shares[0]);
  BOOST_REQUIRE(shares[1]);
  BOOST_TEST(!shares[2]);
  BOOST_TEST(shares[1]->outputs.size() == 1u);
  BOOST_TEST(shares[1]->finished.size() == 1u);
  for (const auto& share : route_step({}, 2)) BOOST_TEST(!share);
}

BOOST_AUTO_TEST_CASE(everything_arrives_once_in_order_where_its_request_is_pinned) {
  constexpr std::uint64_t seed = 20260901;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::uint64_t draws = 0;
  const auto below = [&](std::uint32_t n) {
    return static_cast<std::uint32_t>(uniform_draw({.seed = seed, .position = draws++}) * n);
  };
  for (int round = 0; round < 50; ++round) {
    const std::size_t parsers = 1 + below(5);
    committed step;
    for (std::uint64_t i = below(40); i > 0; --i) {
      step.outputs.push_back({.id = {i}, .request = {below(9)}});
    }
    for (std::uint64_t i = below(40); i > 0; --i) {
      step.finished.push_back({.id = {i}, .request = {below(9)}});
    }
    std::size_t outputs = 0;
    std::size_t endings = 0;
    const auto shares = route_step(step, parsers);
    for (std::size_t p = 0; p < parsers; ++p) {
      if (!shares[p]) continue;
      outputs += shares[p]->outputs.size();
      endings += shares[p]->finished.size();
      std::uint64_t before = 99;  // ids fall in the order in which they were made
      for (const auto& output : shares[p]->outputs) {
        BOOST_TEST(parser_of(output.request, parsers) == p);
        BOOST_TEST(output.id.value < std::exchange(before, output.id.value));
      }
      for (const auto& ending : shares[p]->finished) {
        BOOST_TEST(parser_of(ending.request, parsers) == p);
      }
    }
    BOOST_TEST(outputs == step.outputs.size());
    BOOST_TEST(endings == step.finished.size());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
