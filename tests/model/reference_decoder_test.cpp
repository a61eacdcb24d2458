#include "tests/model/reference_decoder.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/model/golden.hpp"

namespace glimmer {
namespace {

constexpr double bound = 1e-4;
constexpr std::size_t trap_tokens = 40;  // two and a half windows

double error_of(const std::string& model, std::size_t tokens, trap wrong) {
  const auto& expected = golden_of(model);
  const reference_decoder judge{synthetic_checkpoint(model)};
  const auto logits = judge.logits(std::span{expected.tokens}.first(tokens), wrong);
  return largest_difference(logits, std::span{expected.logits_f32.values}.first(logits.size()));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reference_decoder_test)

BOOST_AUTO_TEST_CASE(the_plain_decoder_agrees_with_the_published_reference_at_every_position) {
  for (const auto* model : {"tiny", "tiny-odd"}) {
    BOOST_TEST_CONTEXT(model) {
      BOOST_TEST(error_of(model, golden_of(model).tokens.size(), trap::none) < bound);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_plain_decoder_agrees_on_the_head_shape_of_the_release) {
  BOOST_TEST(error_of("tiny-kernel", trap_tokens, trap::none) < bound);
}

BOOST_AUTO_TEST_CASE(each_known_mistake_is_far_outside_the_bound) {
  for (int i = 1; i < trap_count; ++i) {
    const auto wrong = static_cast<trap>(i);
    const double error = error_of("tiny", trap_tokens, wrong);
    BOOST_TEST_MESSAGE(to_string(wrong) << ": " << error);
    BOOST_TEST(error > 10 * bound, to_string(wrong) << " is seen: " << error);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
