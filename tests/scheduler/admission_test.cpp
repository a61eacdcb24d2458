#include <boost/test/unit_test.hpp>

#include "scheduler/admission.hpp"
#include "tests/scheduler/stage.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(admission_test)

namespace {

// Context 128; the pools hold 100 positions of one sequence.
admission_rules small_rules() {
  auto config = small_config();
  config.queued_tokens_max = 200;
  config.queued_sequences_max = 4;
  return {config, 100};
}

std::string code_of(const ask& a, queue_load load = {}) {
  const auto verdict = small_rules().check(stage::request_of(a), load);
  return verdict ? "" : verdict.error().code;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_prompt_longer_than_the_context_is_refused_with_the_numbers) {
  const auto verdict = small_rules().check(stage::request_of({.prompt = 128}), {});
  BOOST_REQUIRE(!verdict);
  BOOST_TEST(verdict.error().code == "context_length_exceeded");
  BOOST_TEST((verdict.error().kind == error_kind::bad_request));
  BOOST_TEST(verdict.error().text.find("128 tokens") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_prompt_that_no_pool_can_hold_is_refused_with_the_numbers) {
  const auto verdict = small_rules().check(stage::request_of({.prompt = 101}), {});
  BOOST_REQUIRE(!verdict);
  BOOST_TEST(verdict.error().code == "kv_capacity_exceeded");
  BOOST_TEST(verdict.error().text.find("101") != std::string::npos);
  BOOST_TEST(verdict.error().text.find("100") != std::string::npos);
}

// Its last token is never computed, so prompt and output may have 101 tokens together.
BOOST_AUTO_TEST_CASE(the_output_is_cut_to_what_the_pools_hold) {
  const auto verdict = small_rules().check(stage::request_of({.prompt = 90, .max_tokens = 50}), {});
  BOOST_REQUIRE(verdict);
  BOOST_TEST(verdict->output_max == 11u);
  BOOST_TEST(code_of({.prompt = 100}) == "");
}

BOOST_AUTO_TEST_CASE(the_output_is_cut_to_the_context) {
  const admission_rules rules{small_config(), 1000};
  const auto verdict = rules.check(stage::request_of({.prompt = 120, .max_tokens = 50}), {});
  BOOST_REQUIRE(verdict);
  BOOST_TEST(verdict->output_max == 8u);
}

BOOST_AUTO_TEST_CASE(a_prompt_that_only_wants_to_be_scored_may_fill_the_context) {
  const admission_rules rules{small_config(), 1000};
  BOOST_TEST(rules.check(stage::request_of({.prompt = 128, .max_tokens = 0}), {}).has_value());
}

BOOST_AUTO_TEST_CASE(a_full_queue_refuses_for_now) {
  BOOST_TEST(code_of({.prompt = 50}, {.tokens = 160, .sequences = 1}) == "queue_full");
  BOOST_TEST(code_of({.prompt = 40}, {.tokens = 160, .sequences = 1}) == "");
  BOOST_TEST(code_of({.choices = 3}, {.tokens = 0, .sequences = 2}) == "queue_full");
  const auto verdict = small_rules().check(stage::request_of({.prompt = 50}), {160, 1});
  BOOST_TEST((verdict.error().kind == error_kind::overloaded));
}

BOOST_AUTO_TEST_CASE(an_empty_queue_takes_whatever_fits_the_engine) {
  auto config = small_config();
  config.queued_tokens_max = 10;
  const admission_rules rules{config, 1000};
  BOOST_TEST(rules.check(stage::request_of({.prompt = 100}), {}).has_value());
}

BOOST_AUTO_TEST_CASE(hostile_shapes_are_refused) {
  auto nothing = stage::request_of({});
  nothing.choices.clear();
  BOOST_TEST(!small_rules().check(nothing, {}));
  auto no_prompt = stage::request_of({});
  no_prompt.prompt = nullptr;
  BOOST_TEST(!small_rules().check(no_prompt, {}));
  BOOST_TEST(!small_rules().check(stage::request_of({.prompt = 0}), {}));
  BOOST_TEST(!small_rules().check(stage::request_of({.window = 0}), {}));
  auto no_params = stage::request_of({});
  no_params.choices[0].params = nullptr;
  BOOST_TEST(!small_rules().check(no_params, {}));
  BOOST_TEST(small_rules().check(stage::request_of({.max_tokens = UINT32_MAX}), {})->output_max ==
             97u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
