#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>

#include "tests/simulation/house.hpp"
#include "tests/simulation/world.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(simulation_test)

namespace {

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const auto* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Seeds to live through. The environment may ask for more, for one seed again, or for as many as
/// so many events take (`./dev simulate`).
struct seed_range {
  std::uint64_t first = 1;
  std::uint64_t count = 0;
  std::uint64_t events = 0;  ///< 0: all of `count`
};
seed_range seeds(std::uint64_t count) {
  const bool one = std::getenv("GLIMMER_SEED") != nullptr;
  seed_range out{.first = number_from("GLIMMER_SEED", 1),
                 .count = number_from("GLIMMER_SEEDS", one ? 1 : count),
                 .events = number_from("GLIMMER_EVENTS", 0)};
  if (out.events > 0) out.count = out.events;
  return out;
}

/// Lives through all of them; returns the events.
template <class World, class Options, class Look>
std::uint64_t live_through(seed_range range, Options options, Look look) {
  std::uint64_t events = 0;
  std::uint64_t digest = 0;
  auto seed = range.first;
  for (; seed < range.first + range.count && (range.events == 0 || events < range.events); ++seed) {
    World w{seed, options};
    const auto complaint = w.live();
    BOOST_REQUIRE_MESSAGE(complaint.empty(), "seed " << seed << ", " << complaint
                                                     << "\nagain: ./dev simulate --seed " << seed
                                                     << " --events 1");
    events += w.events();
    digest = mix(digest ^ w.digest());
    look(w);
  }
  BOOST_TEST_MESSAGE("seeds " << range.first << " to " << seed - 1 << ": " << events
                              << " events, digest " << digest);
  return events;
}

void live_in_worlds(seed_range range, world_options options) {
  std::uint64_t preemptions = 0;
  std::uint64_t cached_tokens = 0;
  drafting_stats drafted;
  live_through<world>(range, options, [&](const world& w) {
    preemptions += w.last_stats().preemptions;
    cached_tokens += w.last_stats().cached_tokens;
    const auto& d = w.last_stats().drafting;
    drafted.plans += d.plans;
    drafted.plans_given_up += d.plans_given_up;
    drafted.drafted += d.drafted;
    drafted.accepted += d.accepted;
  });
  if (options.drafting && range.count > 50) {
    BOOST_TEST_MESSAGE(drafted.accepted << " of " << drafted.drafted << " drafts accepted, "
                                        << drafted.plans_given_up << " of " << drafted.plans
                                        << " plans given up");
    BOOST_TEST(drafted.accepted > 0u);
    BOOST_TEST(drafted.accepted < drafted.drafted);
  }
  BOOST_TEST_MESSAGE(preemptions << " preemptions, " << cached_tokens << " cached tokens");
  if (range.count > 10) BOOST_TEST((cached_tokens > 0) == options.prefix_caching);
}

void live_in_houses(seed_range range, house_options options) {
  std::uint64_t compared = 0;
  std::size_t deepest = 0;
  live_through<house>(range, options, [&](const house& h) {
    compared += h.compared();
    deepest = std::max(deepest, h.deepest_mail());
  });
  BOOST_TEST_MESSAGE(compared << " answers compared; at most " << deepest
                              << " letters between two actors");
  if (range.count > 10) BOOST_TEST(compared > range.count);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_world_ends_with_one_ending_each_and_balanced_books) {
  live_in_worlds(seeds(4000), {.requests = 12});
}

BOOST_AUTO_TEST_CASE(crowded_worlds_end_too) {
  live_in_worlds(seeds(100), {.requests = 120});
}

BOOST_AUTO_TEST_CASE(every_world_with_a_prefix_cache_ends_with_the_same_streams) {
  live_in_worlds(seeds(4000), {.requests = 12, .prefix_caching = true});
}

BOOST_AUTO_TEST_CASE(crowded_worlds_with_a_prefix_cache_end_too) {
  live_in_worlds(seeds(100), {.requests = 120, .prefix_caching = true});
}

BOOST_AUTO_TEST_CASE(every_world_with_a_drafter_ends_with_the_same_streams) {
  live_in_worlds(seeds(3000), {.requests = 12, .drafting = true});
}

BOOST_AUTO_TEST_CASE(every_world_with_a_drafter_and_a_prefix_cache_ends_with_the_same_streams) {
  live_in_worlds(seeds(3000), {.requests = 12, .prefix_caching = true, .drafting = true});
}

BOOST_AUTO_TEST_CASE(crowded_worlds_with_a_drafter_end_too) {
  live_in_worlds(seeds(60), {.requests = 120, .prefix_caching = true, .drafting = true});
}

BOOST_AUTO_TEST_CASE(in_every_house_each_guest_hears_what_it_would_hear_alone) {
  live_in_houses(seeds(60), {.guests = 20});
}

BOOST_AUTO_TEST_CASE(a_flooded_house_comes_to_rest) {
  live_in_houses(seeds(4), {.guests = 200});
}

BOOST_AUTO_TEST_CASE(a_call_of_ten_thousand_tokens_is_held_with_a_window_of_64_and_finishes) {
  live_in_houses(seeds(1), {.guests = 3, .faults = false, .long_call = true});
}

BOOST_AUTO_TEST_CASE(the_same_seed_lives_the_same_life) {
  const auto life = [](std::uint64_t seed) {
    house h{seed, {.guests = 20}};
    world w{seed, {.requests = 12, .prefix_caching = true}};
    BOOST_TEST(h.live() == "");
    BOOST_TEST(w.live() == "");
    return std::pair{h.digest(), w.digest()};
  };
  for (const std::uint64_t seed : {11, 12, 13}) BOOST_TEST((life(seed) == life(seed)));
  BOOST_TEST((life(11) != life(12)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
