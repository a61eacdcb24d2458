#include "model/forward.hpp"

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <random>
#include <utility>

#include "tests/model/decoder_rig.hpp"
#include "tests/model/golden.hpp"

namespace glimmer {
namespace {

constexpr std::int64_t whole = 1 << 20;
const char* const models[] = {"tiny", "tiny-odd", "tiny-kernel"};

/// Model and type of the tests that compare bits.
constexpr std::pair<const char*, dtype> bit_cases[] = {{"tiny", dtype::f32},
                                                       {"tiny", dtype::bf16},
                                                       {"tiny-odd", dtype::bf16},
                                                       {"tiny-kernel", dtype::bf16}};

/// Logits of the golden prompt, run alone in chunks.
std::vector<float> run_alone(const std::string& model, const rig_options& options,
                             std::int64_t chunk) {
  decoder_rig rig{model, options};
  rig_sequence sequence{.tokens = golden_of(model).tokens};
  rig.run(sequence, chunk);
  return sequence.logits;
}

/// Row `position` of a list of rows of `width` values.
std::span<const float> at_position(std::span<const float> rows, std::int64_t position,
                                   std::size_t width) {
  return rows.subspan(static_cast<std::size_t>(position) * width, width);
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
           return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
         });
}

/// Logits of `tokens`, run in random chunks among seven random sequences in random order.
std::vector<float> run_among_neighbours(decoder_rig& rig, const std::vector<token_id>& tokens,
                                        unsigned seed) {
  std::mt19937 random{seed};
  std::vector<rig_sequence> all(8);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].tokens = random_tokens(seed + i, rig.config(), 20 + random() % 60);
  }
  auto& ours = all[3];
  ours.tokens = tokens;
  while (ours.computed < static_cast<std::int64_t>(tokens.size())) {
    std::vector<decoder_rig::feed> feeds;
    for (auto& s : all) {
      const auto left = static_cast<std::int64_t>(s.tokens.size()) - s.computed;
      const auto count = std::min<std::int64_t>(left, random() % 3 == 0 ? 19 : 1);
      if (count > 0 && (&s == &ours || random() % 4 != 0)) feeds.push_back({&s, count});
    }
    std::shuffle(feeds.begin(), feeds.end(), random);
    rig.step(feeds);
  }
  return ours.logits;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(forward_test)

BOOST_AUTO_TEST_CASE(fp32_logits_agree_with_the_published_reference_at_every_position) {
  for (const auto* model : models) {
    const auto error =
        largest_difference(run_alone(model, {}, whole), golden_of(model).logits_f32.values);
    BOOST_TEST_MESSAGE(model << ": largest difference of a logit " << error);
    BOOST_TEST(error < 1e-4, model << ": " << error);
  }
}

BOOST_AUTO_TEST_CASE(fp32_layers_agree_with_the_published_reference) {
  for (const auto* model : models) {
    const auto& expected = golden_of(model);
    decoder_rig rig{model, {}};
    rig.observe_layers();
    rig_sequence sequence{.tokens = expected.tokens};
    rig.run(sequence, whole);
    const auto width = static_cast<std::size_t>(rig.config().hidden_size);
    for (std::size_t layer = 0; layer < sequence.layers.size(); ++layer) {
      std::vector<float> seen;
      for (const auto p : expected.positions) {
        const auto row = at_position(sequence.layers[layer], p, width);
        seen.insert(seen.end(), row.begin(), row.end());
      }
      const auto error =
          relative_rms(seen, expected.layers_f32.part(static_cast<std::int64_t>(layer)));
      BOOST_TEST(error < 1e-5, model << " layer " << layer << ": " << error);
    }
  }
}

BOOST_AUTO_TEST_CASE(bf16_layers_stay_within_one_and_a_half_percent_of_the_reference) {
  for (const auto* model : models) {
    const auto& expected = golden_of(model);
    decoder_rig rig{model, {.type = dtype::bf16}};
    rig.observe_layers();
    rig_sequence sequence{.tokens = expected.tokens};
    rig.run(sequence, whole);
    for (std::size_t layer = 0; layer < sequence.layers.size(); ++layer) {
      const auto error = relative_rms(sequence.layers[layer],
                                      expected.layers_bf16.part(static_cast<std::int64_t>(layer)));
      BOOST_TEST_MESSAGE(model << " layer " << layer << ": relative RMS " << error);
      BOOST_TEST(error < 0.015, model << " layer " << layer << ": " << error);
    }
  }
}

BOOST_AUTO_TEST_CASE(any_chunking_gives_the_same_bits) {
  for (const auto& [model, type] : bit_cases) {
    const auto one_shot = run_alone(model, {.type = type}, whole);
    for (const std::int64_t chunk : {1, 7, 15, 16, 17, 33}) {
      const bool same = same_bits(run_alone(model, {.type = type}, chunk), one_shot);
      BOOST_TEST(same, model << " " << to_string(type) << " in chunks of " << chunk);
    }
  }
}

BOOST_AUTO_TEST_CASE(seven_random_neighbours_change_no_bit) {
  const unsigned seed = 20260314;
  BOOST_TEST_MESSAGE("seed " << seed);
  for (const auto& [model, type] : bit_cases) {
    const auto alone = run_alone(model, {.type = type}, whole);
    decoder_rig rig{model, {.type = type}};
    BOOST_TEST(same_bits(run_among_neighbours(rig, golden_of(model).tokens, seed), alone),
               model << " " << to_string(type));
  }
}

BOOST_AUTO_TEST_CASE(the_number_of_threads_changes_no_bit) {
  for (const auto type : {dtype::f32, dtype::bf16}) {
    const auto one = run_alone("tiny-kernel", {.type = type, .threads = 1}, 33);
    const auto two = run_alone("tiny-kernel", {.type = type, .threads = 2}, 33);
    BOOST_TEST(same_bits(one, two), to_string(type));
  }
}

BOOST_AUTO_TEST_CASE(every_instruction_set_gives_the_bits_of_its_judge) {
  for (const auto type : {dtype::f32, dtype::bf16}) {
    const auto run_on = [&](instruction_set set) {
      return run_alone("tiny", {.type = type, .instructions = set}, whole);
    };
    const auto by_chains = run_on(instruction_set::plain);
    const auto in_pairs = run_on(instruction_set::plain_pairs);
    BOOST_TEST(same_bits(by_chains, in_pairs) == (type == dtype::f32));
    for (const auto set : available_instruction_sets())
      BOOST_TEST(same_bits(run_on(set), sums_in_pairs(set) ? in_pairs : by_chains),
                 to_string(type) << " " << to_string(set));
  }
}

BOOST_AUTO_TEST_CASE(logits_lie_inside_the_cap) {
  const auto logits = run_alone("tiny", {.type = dtype::bf16}, whole);
  const auto [least, most] = std::minmax_element(logits.begin(), logits.end());
  BOOST_TEST(*least > -20.0f);
  BOOST_TEST(*most < 20.0f);
  BOOST_TEST(*most > 16.0f, "some logits reach into the bend of the cap");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
