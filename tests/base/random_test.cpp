#include <boost/test/unit_test.hpp>

#include "base/random.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(random_test)

// Known answers of the authors' library (Random123, kat_vectors, philox4x32 10).
BOOST_AUTO_TEST_CASE(philox_of_zeros_gives_the_published_words) {
  const auto words = philox4x32({0, 0, 0, 0}, {0, 0});
  BOOST_TEST(words[0] == 0x6627e8d5u);
  BOOST_TEST(words[1] == 0xe169c58du);
  BOOST_TEST(words[2] == 0xbc57ac4cu);
  BOOST_TEST(words[3] == 0x9b00dbd8u);
}

BOOST_AUTO_TEST_CASE(philox_of_ones_gives_the_published_words) {
  const auto f = 0xffffffffu;
  const auto words = philox4x32({f, f, f, f}, {f, f});
  BOOST_TEST(words[0] == 0x408f276du);
  BOOST_TEST(words[1] == 0x41c83b0eu);
  BOOST_TEST(words[2] == 0xa20bc7c6u);
  BOOST_TEST(words[3] == 0x6d5451fdu);
}

BOOST_AUTO_TEST_CASE(draws_lie_strictly_between_zero_and_one_and_spread_evenly) {
  double sum = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const auto u = uniform_draw({.seed = 7, .position = i});
    BOOST_REQUIRE(u > 0 && u < 1);
    sum += u;
  }
  BOOST_TEST(std::abs(sum / 100'000 - 0.5) < 0.005);
}

BOOST_AUTO_TEST_CASE(choice_zero_keeps_the_clients_seed_and_others_differ) {
  BOOST_TEST(choice_seed(42, 0) == 42u);
  BOOST_TEST(choice_seed(42, 1) != choice_seed(42, 2));
  BOOST_TEST(choice_seed(42, 1) != choice_seed(43, 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
