#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>

#include "tests/simulation/world.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(simulation_test)

namespace {

/// Worlds to live through; the environment may ask for more, or for one seed again.
struct seed_range {
  std::uint64_t first = 1;
  std::uint64_t count = 0;
};
seed_range seeds(std::uint64_t count) {
  const auto* first = std::getenv("GLIMMER_SEED");
  const auto* wanted = std::getenv("GLIMMER_SEEDS");
  return {.first = first ? std::strtoull(first, nullptr, 10) : 1,
          .count = wanted ? std::strtoull(wanted, nullptr, 10) : (first ? 1 : count)};
}

void live_through(seed_range range, world_options options) {
  std::uint64_t events = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t cached_tokens = 0;
  drafting_stats drafted;
  for (auto seed = range.first; seed < range.first + range.count; ++seed) {
    world w{seed, options};
    const auto complaint = w.live();
    BOOST_REQUIRE_MESSAGE(complaint.empty(), "seed " << seed << ", " << complaint);
    events += w.events();
    preemptions += w.last_stats().preemptions;
    cached_tokens += w.last_stats().cached_tokens;
    const auto& d = w.last_stats().drafting;
    drafted.plans += d.plans;
    drafted.plans_given_up += d.plans_given_up;
    drafted.drafted += d.drafted;
    drafted.accepted += d.accepted;
  }
  if (options.drafting && range.count > 50) {
    BOOST_TEST_MESSAGE(drafted.accepted << " of " << drafted.drafted << " drafts accepted, "
                                        << drafted.plans_given_up << " of " << drafted.plans
                                        << " plans given up");
    BOOST_TEST(drafted.accepted > 0u);
    BOOST_TEST(drafted.accepted < drafted.drafted);
  }
  BOOST_TEST_MESSAGE(events << " events, " << preemptions << " preemptions, " << cached_tokens
                            << " cached tokens");
  BOOST_TEST((cached_tokens > 0) == options.prefix_caching);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_world_ends_with_one_ending_each_and_balanced_books) {
  live_through(seeds(4000), {.requests = 12});
}

BOOST_AUTO_TEST_CASE(crowded_worlds_end_too) {
  live_through(seeds(100), {.requests = 120});
}

BOOST_AUTO_TEST_CASE(every_world_with_a_prefix_cache_ends_with_the_same_streams) {
  live_through(seeds(4000), {.requests = 12, .prefix_caching = true});
}

BOOST_AUTO_TEST_CASE(crowded_worlds_with_a_prefix_cache_end_too) {
  live_through(seeds(100), {.requests = 120, .prefix_caching = true});
}

BOOST_AUTO_TEST_CASE(every_world_with_a_drafter_ends_with_the_same_streams) {
  live_through(seeds(3000), {.requests = 12, .drafting = true});
}

BOOST_AUTO_TEST_CASE(every_world_with_a_drafter_and_a_prefix_cache_ends_with_the_same_streams) {
  live_through(seeds(3000), {.requests = 12, .prefix_caching = true, .drafting = true});
}

BOOST_AUTO_TEST_CASE(crowded_worlds_with_a_drafter_end_too) {
  live_through(seeds(60), {.requests = 120, .prefix_caching = true, .drafting = true});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
