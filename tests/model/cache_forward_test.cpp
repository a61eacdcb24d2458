#include <bit>
#include <boost/test/unit_test.hpp>

#include "tests/model/decoder_rig.hpp"
#include "tests/model/golden.hpp"
#include "tests/model/reference_decoder.hpp"

namespace glimmer {
namespace {

constexpr std::int64_t whole = 1 << 20;
/// The last tokens of the longest context.
constexpr std::int64_t last_tokens = 40;
constexpr std::int64_t far = 131'072 - last_tokens;

std::vector<float> run(const std::string& model, const rig_options& options, std::int64_t chunk) {
  decoder_rig rig{model, options};
  auto sequence = rig.sequence_of(
      random_tokens(91, rig.config(), options.first_position > 0 ? last_tokens : 90));
  rig.run(sequence, chunk);
  return sequence.logits;
}

std::vector<float> judged(const std::string& model, const cache_rules& cache) {
  const reference_decoder judge{synthetic_checkpoint(model), cache};
  const auto& config = synthetic_checkpoint(model).config.text;
  return judge.logits(random_tokens(91, config, cache.first_position > 0 ? last_tokens : 90));
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b, [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cache_forward_test)

BOOST_AUTO_TEST_CASE(positions_up_to_131071_are_rotated_windowed_and_seen_as_the_reference_does) {
  for (const auto* model : {"tiny", "tiny-odd"}) {
    const auto expected = judged(model, {.first_position = far});
    const auto logits = run(model, {.first_position = far}, whole);
    const auto error = largest_difference(logits, expected);
    BOOST_TEST_MESSAGE(model << ": largest difference of a logit " << error);
    BOOST_TEST(error < 1e-4, model << ": " << error);
    // The place matters: near the beginning the same tokens have other logits.
    const reference_decoder near{synthetic_checkpoint(model)};
    const auto tokens = random_tokens(91, synthetic_checkpoint(model).config.text, last_tokens);
    BOOST_TEST(largest_difference(near.logits(tokens), expected) > 1e-2);
  }
}

BOOST_AUTO_TEST_CASE(far_positions_have_the_same_bits_in_chunks) {
  const rig_options options{.type = dtype::bf16, .first_position = far};
  const auto expected = run("tiny", options, whole);
  for (const std::int64_t chunk : {1, 7})
    BOOST_TEST(same_bits(run("tiny", options, chunk), expected));
}

BOOST_AUTO_TEST_CASE(an_fp8_cache_computes_with_rounded_keys_and_values) {
  for (const auto* model : {"tiny", "tiny-kernel"}) {
    const auto exact = judged(model, {});
    const auto rounded = judged(model, {.rounds_to_e4m3 = true});
    const auto logits = run(model, {.cache = dtype::f8_e4m3}, whole);
    const auto error = relative_rms(logits, rounded);
    const auto cost = relative_rms(rounded, exact);
    BOOST_TEST_MESSAGE(model << ": against rounded keys and values " << error
                             << ", against exact ones " << cost);
    BOOST_TEST(error < 0.015, model << ": " << error);
    BOOST_TEST(error < cost / 2, model << ": " << error << " and " << cost);
    BOOST_TEST(cost < 0.06, model << ": " << cost);
  }
}

BOOST_AUTO_TEST_CASE(an_fp8_cache_gives_the_same_bits_in_chunks_and_by_every_instruction_set) {
  for (const auto* model : {"tiny", "tiny-kernel"}) {
    rig_options options{.type = dtype::bf16, .cache = dtype::f8_e4m3};
    const auto expected = run(model, options, whole);
    for (const std::int64_t chunk : {1, 17})
      BOOST_TEST(same_bits(run(model, options, chunk), expected));
    const auto run_on = [&](instruction_set set) {
      options.instructions = set;
      return run(model, options, whole);
    };
    const auto by_chains = run_on(instruction_set::plain);
    const auto in_pairs = run_on(instruction_set::plain_pairs);
    for (const auto set : available_instruction_sets())
      BOOST_TEST(same_bits(run_on(set), sums_in_pairs(set) ? in_pairs : by_chains), to_string(set));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
