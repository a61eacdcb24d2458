// The controller against invented machines: it must find what pays and never cost much.
#include "scheduler/draft_controller.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "tests/simulation/dice.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(draft_controller_test)

namespace {

/// A machine: milliseconds of a step and of a draft plan, by rows.
struct machine {
  std::string name;
  double step_fixed = 10;
  double step_row = 0;
  std::uint32_t knee = 1;  ///< rows up to here cost nothing more
  double draft_fixed = 1;
  double draft_row = 0.05;
  double context = 0.1;  ///< of a draft plan without blocks

  double step(std::uint32_t rows) const {
    return step_fixed + step_row * (std::max(rows, knee) - knee);
  }
  double draft(std::uint32_t rows) const {
    return rows == 0 ? context : draft_fixed + draft_row * rows;
  }
};

struct workload {
  std::uint32_t streams = 1;
  double right = 0.8;  ///< chance of each draft, given that all before are right
  std::uint32_t rounds = 1500;
  double noise = 0.1;
};

/// Milliseconds per token of a stream.
struct outcome {
  double time = 0;
  double tokens = 0;
  double drafted = 0;
  double per_token() const { return time / tokens; }
};

duration milliseconds_of(double ms) {
  return duration{static_cast<std::int64_t>(ms * 1e6)};
}

/// Runs `load` on `m`; `fixed`: always so many drafts, for comparison.
class bench_run {
 public:
  bench_run(draft_controller& control, std::uint64_t seed) : control_{control}, chance_{seed} {}

  outcome run(const machine& m, const workload& load) {
    outcome out;
    std::vector<acceptance_record> records(load.streams, acceptance_record{0.9f});
    std::vector<draft_candidate> candidates;
    for (const auto& r : records) candidates.push_back({.tokens_max = 15, .record = &r});
    for (std::uint32_t i = 0; i < load.rounds; ++i) {
      const auto chosen = control_.decide({.room = 512}, candidates);
      std::uint32_t drafts = 0, blocks = 0, tokens = load.streams;
      for (const auto k : chosen.tokens) {
        drafts += k;
        blocks += k > 0;
      }
      if (chosen.context) {
        const auto time = noisy(m.draft(drafts + blocks), load);
        control_.observe(draft_cost{.rows = drafts + blocks, .time = milliseconds_of(time)});
        out.time += time;
      }
      for (std::uint32_t s = 0; s < load.streams; ++s) {
        std::uint32_t right = 0;
        while (right < chosen.tokens[s] && uniform() < load.right) ++right;
        tokens += right;
        if (chosen.tokens[s] == 0) continue;
        records[s].observe({.drafted = chosen.tokens[s], .accepted = right});
        control_.observe(draft_round{.drafted = chosen.tokens[s], .accepted = right});
      }
      const auto time = noisy(m.step(load.streams + drafts), load);
      control_.observe(verify_cost{.streams = load.streams,
                                   .draft_rows = drafts,
                                   .tokens = tokens,
                                   .time = milliseconds_of(time)});
      out.time += time;
      out.tokens += tokens;
      out.drafted += drafts;
    }
    return out;
  }

 private:
  double uniform() { return static_cast<double>(chance_.next() >> 11) * 0x1p-53; }
  double noisy(double ms, const workload& load) {
    return ms * (1 + load.noise * (2 * uniform() - 1));
  }
  draft_controller& control_;
  dice chance_;
};

drafting_config adaptive() {
  return {.tokens_max = 15, .adaptive = true, .verify_rows_max = 512, .vocab_size = 64};
}

double plain_per_token(const machine& m, const workload& load) {
  return m.step(load.streams) / load.streams;
}

/// The best that one fixed length for everybody could do.
double best_fixed_per_token(const machine& m, const workload& load) {
  auto best = plain_per_token(m, load);
  for (std::uint32_t k = 1; k <= 15; ++k) {
    double tokens = 1;
    for (std::uint32_t j = 1; j <= k; ++j) tokens += std::pow(load.right, j);
    const auto time = m.step(load.streams * (k + 1)) + m.draft(load.streams * (k + 1));
    best = std::min(best, time / (tokens * load.streams));
  }
  return best;
}

const machine machines[] = {
    {.name = "memory bound"},
    {.name = "memory bound, slow head", .draft_fixed = 6},
    {.name = "hopeless head", .draft_fixed = 30, .draft_row = 1, .context = 3},
    {.name = "compute bound", .step_fixed = 1, .step_row = 1, .draft_row = 0.2},
    {.name = "compute bound, dear context", .step_fixed = 1, .step_row = 1, .context = 1},
    {.name = "a knee at 16", .step_row = 0.8, .knee = 16},
    {.name = "a knee at 124", .step_row = 0.09, .knee = 124, .draft_fixed = 1.6},
};

}  // namespace

BOOST_AUTO_TEST_CASE(fixed_lengths_are_as_many_as_there_is_room_for) {
  auto config = adaptive();
  config.adaptive = false;
  config.tokens_max = 4;
  draft_controller control{config};
  const std::vector<draft_candidate> three{{.tokens_max = 4}, {.tokens_max = 2}, {.tokens_max = 4}};
  BOOST_TEST(control.decide({.room = 100}, three).tokens == (std::vector<std::uint32_t>{4, 2, 4}),
             boost::test_tools::per_element());
  BOOST_TEST(control.decide({.room = 7}, three).tokens == (std::vector<std::uint32_t>{3, 2, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(control.decide({.room = 0}, three).tokens == (std::vector<std::uint32_t>{0, 0, 0}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(it_is_never_slower_than_0_97_of_no_drafting) {
  for (const auto& m : machines) {
    for (const auto streams : {1u, 3u, 16u, 48u}) {
      for (const auto right : {0.0, 0.3, 0.6, 0.9}) {
        draft_controller control{adaptive()};
        const workload load{.streams = streams, .right = right};
        const auto seen = bench_run{control, 5}.run(m, load);
        BOOST_TEST_CONTEXT(m.name << ", " << streams << " streams, right " << right) {
          BOOST_TEST(plain_per_token(m, load) / seen.per_token() >= 0.97);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(where_drafting_pays_most_of_the_gain_is_found) {
  for (const auto& m : machines) {
    if (m.draft_fixed > m.step_fixed) continue;  // only far beyond what a probe can see
    for (const auto streams : {1u, 4u, 16u}) {
      for (const auto right : {0.5, 0.8, 0.95}) {
        draft_controller control{adaptive()};
        const workload load{.streams = streams, .right = right, .noise = 0.05};
        const auto seen = bench_run{control, 6}.run(m, load);
        BOOST_TEST_CONTEXT(m.name << ", " << streams << " streams, right " << right) {
          BOOST_TEST(best_fixed_per_token(m, load) / seen.per_token() >= 0.8);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(load_that_comes_and_goes_is_followed) {
  const machine m{.name = "a knee at 16", .step_row = 0.8, .knee = 16};
  draft_controller control{adaptive()};
  bench_run bench{control, 7};
  const workload few{.streams = 1, .right = 0.85};
  const workload many{.streams = 48, .right = 0.85};
  for (int i = 0; i < 3; ++i) {
    const auto alone = bench.run(m, few);
    const auto crowd = bench.run(m, many);
    BOOST_TEST(plain_per_token(m, few) / alone.per_token() > 2.0);
    BOOST_TEST(plain_per_token(m, many) / crowd.per_token() >= 0.97);
  }
}

BOOST_AUTO_TEST_CASE(a_drafter_that_becomes_useful_is_found_by_probing) {
  const machine m{.name = "memory bound"};
  draft_controller control{adaptive()};
  bench_run bench{control, 8};
  const auto before = bench.run(m, {.streams = 2, .right = 0.0, .rounds = 2000});
  BOOST_TEST(before.drafted / before.tokens < 0.3);
  bench.run(m, {.streams = 2, .right = 0.9, .rounds = 2000});
  const workload after{.streams = 2, .right = 0.9, .rounds = 1000};
  BOOST_TEST(plain_per_token(m, after) / bench.run(m, after).per_token() > 2.0);
}

BOOST_AUTO_TEST_CASE(likely_sequences_get_longer_drafts) {
  draft_controller control{adaptive()};
  const machine m{.name = "a knee at 8", .step_row = 1.2, .knee = 4};
  bench_run{control, 9}.run(m, {.streams = 2, .right = 0.6});
  acceptance_record sure{0.9f}, unsure{0.9f};
  for (int i = 0; i < 30; ++i) {
    sure.observe({.drafted = 6, .accepted = 6});
    unsure.observe({.drafted = 6, .accepted = 0});
  }
  const std::vector<draft_candidate> both{{.tokens_max = 15, .record = &sure},
                                          {.tokens_max = 15, .record = &unsure}};
  std::uint32_t more = 0;
  for (int i = 0; i < 20; ++i) {
    const auto chosen = control.decide({.room = 512}, both);
    more += chosen.tokens[0] > chosen.tokens[1] + 2;
  }
  BOOST_TEST(more > 15u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
