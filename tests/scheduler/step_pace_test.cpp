#include <boost/test/unit_test.hpp>

#include "scheduler/step_pace.hpp"
#include "tests/scheduler/stage.hpp"

namespace glimmer {

using std::chrono::milliseconds;

BOOST_AUTO_TEST_SUITE(step_pace_test)

namespace {

step_pace taught(step_pace_config config) {
  step_pace pace{config};
  pace.observe({.streams = 4, .time = milliseconds{20}});
  pace.observe({.streams = 4, .prompt_rows = 100, .time = milliseconds{120}});  // 1 ms a row
  return pace;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_bounded_by_time_unless_asked_for) {
  BOOST_TEST(taught({}).prompt_rows_max(4) == UINT32_MAX);
}

BOOST_AUTO_TEST_CASE(nothing_is_bounded_before_anything_was_measured) {
  BOOST_TEST(step_pace{{.step_time_max = milliseconds{250}}}.prompt_rows_max(4) == UINT32_MAX);
}

BOOST_AUTO_TEST_CASE(a_step_is_bounded_by_its_estimated_time) {
  const auto pace = taught({.step_time_max = milliseconds{250}});
  BOOST_TEST(pace.prompt_rows_max(0) == 250u);
  BOOST_TEST(pace.prompt_rows_max(4) == 230u);
}

BOOST_AUTO_TEST_CASE(streams_keep_their_part_of_the_solo_rate) {
  const auto pace = taught({.step_time_max = milliseconds{250}, .decode_floor_percent = 50});
  BOOST_TEST(pace.prompt_rows_max(4) == 20u);
  BOOST_TEST(pace.prompt_rows_max(0) == 250u);
}

BOOST_AUTO_TEST_CASE(prompts_never_starve) {
  BOOST_TEST(taught({.step_time_max = milliseconds{1}}).prompt_rows_max(4) == 4u);
}

BOOST_AUTO_TEST_CASE(a_clock_that_stands_still_does_no_harm) {
  step_pace pace{{.step_time_max = milliseconds{250}, .decode_floor_percent = 50}};
  for (int i = 0; i < 10; ++i) {
    pace.observe({.streams = 1, .time = {}});
    pace.observe({.streams = 1, .prompt_rows = 7, .time = {}});
  }
  BOOST_TEST(pace.prompt_rows_max(1) >= 4u);
}

// A device that takes 10 ms for a step and 1 ms more for each prompt row. Alone, a stream gets a
// token every 10 ms; beside endless long prompts it must get one every 20 ms.
BOOST_AUTO_TEST_CASE(a_stream_keeps_half_its_rate_beside_endless_long_prompts) {
  auto config = small_config();
  config.max_model_len = 2000;
  config.max_num_batched_tokens = 512;
  config.blocks = {1000, 1000};
  config.pace = {.step_time_max = milliseconds{250}, .decode_floor_percent = 50};
  stage engine{config};
  BOOST_REQUIRE(engine.admit({.id = 1, .max_tokens = 400, .window = 400}));
  time_point half{};
  for (std::uint64_t id = 2; !engine.finished.contains(1); ++id) {
    if (engine.streams[1].size() == 100 && half == time_point{}) half = engine.now;
    if (engine.streams[1].size() >= 20 && engine.sched.stats().waiting < 2) {
      BOOST_REQUIRE(engine.admit({.id = id, .prompt = 1000, .max_tokens = 1}));
    }
    const auto plan = engine.sched.plan(engine.now);
    BOOST_REQUIRE(plan);
    const auto prompt_rows = plan->tokens.size() - 1;
    engine.now = engine.now + milliseconds{10 + static_cast<int>(prompt_rows)};
    const auto out = engine.sched.commit(engine.executor.run(*plan), engine.now);
    for (const auto& output : out.outputs) {
      auto& stream = engine.streams[output.id.value];
      stream.insert(stream.end(), output.tokens.begin(), output.tokens.end());
    }
    engine.take(out.finished);
  }
  const auto per_token = (engine.now - half) / 300;
  BOOST_TEST(per_token.count() <= duration{milliseconds{21}}.count());
  BOOST_TEST(engine.finished.size() > 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
