#include "executor/sampling_stage.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <thread>

#include "tests/executor/plans.hpp"
#include "tests/executor/random_rows.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(sampling_stage_test)

constexpr std::size_t vocab = 50;
const auto nan = std::numeric_limits<float>::quiet_NaN();
using tokens = std::vector<token_id>;

void in_order(std::size_t tasks, const std::function<void(std::size_t)>& body) {
  for (std::size_t i = 0; i < tasks; ++i) body(i);
}

void in_threads(std::size_t tasks, const std::function<void(std::size_t)>& body) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < tasks; ++i) threads.emplace_back([&body, i] { body(i); });
}

/// A row whose greedy token is `best`.
std::vector<float> pointing_at(token_id best) {
  std::vector<float> row(vocab, 0.0f);
  row[static_cast<std::size_t>(best)] = 9;
  return row;
}

std::vector<float> joined(const std::vector<std::vector<float>>& rows) {
  std::vector<float> out;
  for (const auto& row : rows) out.insert(out.end(), row.begin(), row.end());
  return out;
}

step_result run(sampling_stage& stage, const step_plan& plan,
                const std::vector<std::vector<float>>& rows) {
  stage.begin(plan);
  BOOST_REQUIRE(stage.wanted().size() == rows.size());
  stage.take(stage.tasks(), joined(rows), in_order);
  return stage.finish();
}

const sampling_params greedy{.temperature = 0};

BOOST_AUTO_TEST_CASE(a_prompt_chunk_wants_no_logits_and_its_last_row_yields_the_first_token) {
  sampling_stage stage{{0}, 1};
  const auto chunk = plan_writer{1}.start(7, {1, 2, 3}, greedy).add({7, 0, {1, 2}}).plan();
  const auto nothing = run(stage, chunk, {});
  BOOST_TEST(nothing.sequences.size() == 1u);
  BOOST_TEST(nothing.sequences[0].tokens.empty());

  plan_writer last{2};
  last.add({.id = 7, .position = 2, .tokens = {3}, .sample = true});
  const auto first = run(stage, last.plan(), {pointing_at(42)});
  BOOST_TEST(first.id.value == 2u);
  BOOST_TEST(first.sequences[0].tokens == tokens{42}, boost::test_tools::per_element());
  BOOST_TEST(first.sequences[0].logprobs.empty());
}

BOOST_AUTO_TEST_CASE(a_dropped_sequence_is_forgotten_and_may_start_again_with_its_output) {
  sampling_stage stage{{0}, 1};
  const sampling_params params{.temperature = 0, .presence_penalty = 2};
  run(stage, plan_writer{1}.start(7, {1}, params).plan(), {});
  BOOST_TEST(stage.sequences() == 1u);
  plan_writer again{2};
  again.drop(7).start(7, {1}, params, {5, 6});
  again.add({.id = 7, .tokens = {1, 5, 6}, .sample = true});
  auto row = pointing_at(5);
  row[5] = 1.5f;
  row[8] = 1;
  const auto out = run(stage, again.plan(), {row});
  BOOST_TEST(out.sequences[0].tokens == tokens{8}, boost::test_tools::per_element());
  run(stage, plan_writer{3}.drop(7).plan(), {});
  BOOST_TEST(stage.sequences() == 0u);
}

BOOST_AUTO_TEST_CASE(logprobs_tell_of_raw_logits_although_the_draw_sees_processed_ones) {
  sampling_stage stage{{0}, 1};
  const sampling_params params{
      .temperature = 0, .logit_bias = {{3, 100.0f}}, .logprobs = std::uint32_t{2}};
  plan_writer w;
  w.start(1, {1}, params).add({.id = 1, .tokens = {1}, .sample = true});
  const auto out = run(stage, w.plan(), {pointing_at(4)}).sequences[0];
  BOOST_TEST(out.tokens == tokens{3}, boost::test_tools::per_element());
  const double log_sum = std::log(std::exp(9.0) + 49);
  BOOST_TEST(std::abs(out.logprobs.at(0).logprob + log_sum) < 1e-5);
  BOOST_TEST(out.logprobs[0].top.size() == 2u);
  BOOST_TEST(out.logprobs[0].top[0].first == 4);
}

BOOST_AUTO_TEST_CASE(prompt_logprobs_of_a_chunk_are_those_of_the_next_prompt_tokens) {
  sampling_stage stage{{0}, 1};
  const sampling_params params{.temperature = 0, .prompt_logprobs = std::uint32_t{1}};
  plan_writer w;
  w.start(1, {10, 11, 12, 13}, params);
  w.add({.id = 1, .position = 1, .tokens = {11, 12, 13}, .sample = true});
  const auto out =
      run(stage, w.plan(), {pointing_at(12), pointing_at(9), pointing_at(20)}).sequences[0];
  BOOST_REQUIRE(out.prompt_logprobs.size() == 2u);
  BOOST_TEST(out.prompt_logprobs[0].token == 12);
  BOOST_TEST(out.prompt_logprobs[0].top.at(0).first == 12);
  BOOST_TEST(out.prompt_logprobs[1].token == 13);
  BOOST_TEST(out.prompt_logprobs[1].top.at(0).first == 9);
  BOOST_TEST(out.prompt_logprobs[1].logprob < out.prompt_logprobs[0].logprob);
  BOOST_TEST(out.tokens == tokens{20}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(drafts_are_accepted_up_to_the_first_that_differs) {
  sampling_stage stage{{0}, 1};
  plan_writer w;
  w.start(1, {1}, greedy, {2});
  w.add({.id = 1, .position = 1, .tokens = {2, 30, 31, 32}, .sample = true, .drafts = 3});
  const auto out =
      run(stage, w.plan(), {pointing_at(30), pointing_at(31), pointing_at(5), pointing_at(6)});
  BOOST_TEST(out.sequences[0].tokens == (tokens{30, 31, 5}), boost::test_tools::per_element());
  plan_writer next{2};
  next.add({.id = 1, .position = 4, .tokens = {5}, .sample = true});
  BOOST_TEST(run(stage, next.plan(), {pointing_at(7)}).sequences[0].tokens == tokens{7},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_broken_row_fails_its_own_sequence_and_no_other) {
  sampling_stage stage{{0}, 2};
  plan_writer w;
  const std::vector<float> all_nan(vocab, nan);
  auto one_nan = pointing_at(2);
  one_nan[17] = nan;
  const sampling_params masks{.temperature = 1, .allowed_token_ids = {3}};  // hides the NaN
  w.start(1, {1}, greedy).start(2, {1}, greedy).start(3, {1}, masks);
  for (std::uint64_t id = 1; id <= 3; ++id) w.add({.id = id, .tokens = {1}, .sample = true});
  const auto out = run(stage, w.plan(), {all_nan, pointing_at(6), one_nan});
  BOOST_TEST(out.sequences[0].failed);
  BOOST_TEST(out.sequences[0].tokens.empty());
  BOOST_TEST(!out.sequences[1].failed);
  BOOST_TEST(out.sequences[1].tokens == tokens{6}, boost::test_tools::per_element());
  BOOST_TEST(out.sequences[2].failed);
}

BOOST_AUTO_TEST_CASE(slices_and_threads_and_neighbours_change_no_token_and_no_logprob) {
  const auto rows = random_rows({40, vocab}, 99);
  const sampling_params params{.temperature = 0.8f,
                               .top_p = 0.95f,
                               .top_k = 20,
                               .repetition_penalty = 1.2f,
                               .seed = 5,
                               .logprobs = std::uint32_t{3}};
  plan_writer w;
  for (std::uint64_t id = 0; id < 40; ++id)
    w.start(id, {1, 2}, params).add({.id = id, .position = 1, .tokens = {2}, .sample = true});

  sampling_stage together{{0}, 4};
  together.begin(w.plan());
  for (std::size_t begin = 0; begin < 40; begin += 8) {
    const auto slice = together.tasks().subspan(begin, 8);
    const std::vector part(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                           rows.begin() + static_cast<std::ptrdiff_t>(begin + 8));
    together.take(slice, joined(part), in_threads);
  }
  const auto all = together.finish();
  for (std::uint64_t id = 0; id < 40; ++id) {
    sampling_stage alone{{0}, 1};
    plan_writer solo;
    solo.start(id, {1, 2}, params).add({.id = id, .position = 1, .tokens = {2}, .sample = true});
    const auto expected = run(alone, solo.plan(), {rows[id]}).sequences[0];
    BOOST_TEST(all.sequences[id].tokens == expected.tokens, boost::test_tools::per_element());
    BOOST_TEST((all.sequences[id].logprobs[0].logprob == expected.logprobs[0].logprob));
    BOOST_TEST((all.sequences[id].logprobs[0].top == expected.logprobs[0].top));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
