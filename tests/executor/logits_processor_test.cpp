#include "executor/logits_processor.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(logits_processor_test)

constexpr auto masked = -std::numeric_limits<float>::infinity();
using tokens = std::vector<token_id>;

logits_processor make(sampling_params params, const tokens& prompt = {}, const tokens& end = {}) {
  return {std::make_shared<const sampling_params>(std::move(params)), prompt, end};
}

std::vector<float> applied(logits_processor& p, std::vector<float> row) {
  p.apply(row);
  return row;
}

void check(const std::vector<float>& row, const std::vector<float>& expected) {
  BOOST_TEST(row == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(default_params_change_nothing) {
  auto p = make({}, {1, 2}, {0});
  p.accept(2);
  BOOST_TEST(!p.active());
  check(applied(p, {1, -2, 3}), {1, -2, 3});
}

BOOST_AUTO_TEST_CASE(repetition_counts_prompt_and_output_and_pulls_towards_less) {
  auto p = make({.repetition_penalty = 2}, {0, 0});
  check(applied(p, {4, -4, 6}), {2, -4, 6});
  p.accept(1);
  check(applied(p, {4, -4, 6}), {2, -8, 6});
}

BOOST_AUTO_TEST_CASE(frequency_counts_each_occurrence_and_presence_once_in_the_output_only) {
  auto p = make({.presence_penalty = 0.5f, .frequency_penalty = 0.25f}, {2, 2});
  p.accept(0);
  p.accept(0);
  p.accept(1);
  check(applied(p, {1, 1, 1}), {0, 0.25f, 1});
  BOOST_TEST(p.output_count() == 3u);
}

BOOST_AUTO_TEST_CASE(bias_is_added_and_never_revives_a_masked_token) {
  auto p = make({.logit_bias = {{0, 5}, {2, 100}}, .allowed_token_ids = {0, 1}});
  check(applied(p, {1, 2, 3, 4}), {6, 2, masked, masked});
}

BOOST_AUTO_TEST_CASE(end_tokens_wait_for_the_minimum_length) {
  auto p = make({.min_tokens = 2, .stop_token_ids = {3}}, {}, {1});
  check(applied(p, {0, 0, 0, 0}), {0, masked, 0, masked});
  p.accept(0);
  BOOST_TEST(p.active());
  p.accept(0);
  BOOST_TEST(!p.active());
  check(applied(p, {0, 0, 0, 0}), {0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(a_bad_word_is_never_completed_but_its_beginning_is_free) {
  auto p = make({.bad_words = {{1, 2}, {3}, {2, 1, 0}}}, {1});  // the prompt does not count
  check(applied(p, {0, 0, 0, 0}), {0, 0, 0, masked});
  p.accept(1);
  check(applied(p, {0, 0, 0, 0}), {0, 0, masked, masked});
  p.accept(2);
  p.accept(1);
  check(applied(p, {0, 0, 0, 0}), {masked, 0, masked, masked});
}

BOOST_AUTO_TEST_CASE(a_restriction_that_would_leave_nothing_is_lifted) {
  auto only_end = make({.min_tokens = 5, .allowed_token_ids = {1}}, {}, {1});
  check(applied(only_end, {3, 2, 1}), {masked, 2, masked});
  auto no_word = make({.bad_words = {{0}, {1}, {2}}});
  check(applied(no_word, {3, 2, 1}), {3, 2, 1});
  auto nothing_there = make({.allowed_token_ids = {7, 8}});
  check(applied(nothing_there, {3, 2, 1}), {3, 2, 1});
}

BOOST_AUTO_TEST_CASE(hostile_numbers_and_tokens_outside_of_the_row_leave_finite_logits) {
  const float huge = std::numeric_limits<float>::max();
  auto p = make({.presence_penalty = -huge,
                 .frequency_penalty = -huge,
                 .repetition_penalty = 1e-38f,
                 .min_tokens = 100,
                 .logit_bias = {{-5, 1}, {0, huge}, {1, -huge}, {2147483647, 1}},
                 .stop_token_ids = {-1, 99},
                 .bad_words = {{}, {-3}, {1 << 30}}},
                {-1, 1 << 30, 0, 1}, {-7, 55});
  for (const token_id token : {0, 1, -9, 1 << 30}) p.accept(token);
  for (const float logit : applied(p, {huge, -huge, 20, -20})) BOOST_TEST(std::isfinite(logit));
}

BOOST_AUTO_TEST_CASE(incremental_counts_equal_counting_anew_at_every_step) {
  const std::uint64_t seed = 31;
  BOOST_TEST_MESSAGE("seed " << seed);
  const sampling_params params{
      .presence_penalty = 0.3f, .frequency_penalty = 0.2f, .repetition_penalty = 1.3f};
  const auto token = [&](std::uint64_t i) {
    return static_cast<token_id>(uniform_draw({.seed = seed, .position = i}) * 20);
  };
  tokens prompt, output;
  for (std::uint64_t i = 0; i < 10; ++i) prompt.push_back(token(i));
  auto p = make(params, prompt);
  for (std::uint64_t step = 0; step < 100; ++step) {
    std::vector<float> row(20);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i) - 10;
    auto expected = row;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto id = static_cast<token_id>(i);
      const auto times = std::count(output.begin(), output.end(), id);
      if (times > 0 || std::count(prompt.begin(), prompt.end(), id) > 0)
        expected[i] = row[i] > 0 ? row[i] / 1.3f : row[i] * 1.3f;
      expected[i] -= 0.2f * static_cast<float>(times);
      if (times > 0) expected[i] -= 0.3f;
    }
    check(applied(p, row), expected);
    output.push_back(token(1000 + step));
    p.accept(output.back());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
