#include <boost/test/unit_test.hpp>
#include <numeric>

#include "base/json.hpp"
#include "tests/model/golden.hpp"
#include "tests/model/temporary_folder.hpp"
#include "tools/make_checkpoint/formats.hpp"
#include "tools/make_checkpoint/recipe.hpp"
#include "tools/make_checkpoint/tokenizer_files.hpp"
#include "tools/make_checkpoint/toy_bpe.hpp"
#include "tools/make_checkpoint/weight_rule.hpp"

namespace glimmer {
namespace {

std::uint64_t parameters_of(const std::string& name) {
  std::uint64_t total = 0;
  for (const auto& t : expected_tensors(find_recipe(name)->config)) {
    std::uint64_t count = 1;
    for (const auto extent : t.shape) count *= static_cast<std::uint64_t>(extent);
    total += count;
  }
  return total;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(make_checkpoint_test)

BOOST_AUTO_TEST_CASE(recipes_have_their_parameter_counts) {
  BOOST_TEST(parameters_of("tiny") == 4'085'680u);
  BOOST_TEST(parameters_of("tiny-kernel") == 17'083'104u);
  BOOST_TEST(parameters_of("mid") == 667'532'288u);
  BOOST_TEST(parameters_of("mid-deep") == 505'141'888u);
  BOOST_TEST(parameters_of("layer-real") == 2 * 483'944'448u + 2 * 4096u * 6656u + 6656u);
  BOOST_TEST(!find_recipe("large"));
}

BOOST_AUTO_TEST_CASE(draws_follow_from_name_and_place_alone) {
  const auto recipe = find_recipe("tiny");
  BOOST_REQUIRE(recipe);
  for (const auto& t : expected_tensors(recipe->config)) {
    std::vector<std::uint16_t> whole(64);
    std::vector<std::uint16_t> tail(24);
    if (t.shape[0] < 64) continue;
    fill_weights(recipe->config, t, 0, whole);
    fill_weights(recipe->config, t, 40, tail);
    BOOST_TEST(std::equal(tail.begin(), tail.end(), whole.begin() + 40), t.name);
  }
  double sum = 0;
  for (std::uint64_t n = 0; n < 4096; ++n) {
    const double u = weight_stream{"a name"}.at(n);
    BOOST_REQUIRE((u >= -1 && u < 1));
    sum += u;
  }
  BOOST_TEST(std::abs(sum) < 200);
}

BOOST_AUTO_TEST_CASE(bf16_rounds_to_even) {
  BOOST_TEST(bf16_bits(1.0f) == 0x3F80);
  BOOST_TEST(bf16_bits(1.00390625f) == 0x3F80);  // half way, down to even
  BOOST_TEST(bf16_bits(1.01171875f) == 0x3F82);  // half way, up to even
  BOOST_TEST(bf16_bits(-3.0f) == 0xC040);
}

BOOST_AUTO_TEST_CASE(small_formats_round_to_the_nearest_code_and_ties_to_even) {
  for (int code = 0; code < 256; ++code) {
    if ((code & 127) == 127) continue;
    const auto c = static_cast<std::uint8_t>(code);
    BOOST_TEST(e4m3_code(e4m3_value(c)) == c);
    if ((code & 127) < 126) {
      const float half = (e4m3_value(c) + e4m3_value(static_cast<std::uint8_t>(c + 1))) / 2;
      BOOST_TEST(e4m3_code(half) == (c + 1) / 2 * 2);
    }
  }
  BOOST_TEST(e4m3_value(1) == 0x1p-9f);
  BOOST_TEST(e4m3_code(1000.0f) == 0x7E);
  const float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (std::uint8_t code = 0; code < 8; ++code) {
    BOOST_TEST(e2m1_code(magnitudes[code]) == code);
    BOOST_TEST(e2m1_code(-magnitudes[code]) == code + 8);
    if (code == 7) break;
    BOOST_TEST(e2m1_code((magnitudes[code] + magnitudes[code + 1]) / 2) == (code + 1) / 2 * 2);
  }
  BOOST_TEST(e2m1_code(100.0f) == 7);
}

BOOST_AUTO_TEST_CASE(words_are_cut_as_the_pattern_does) {
  const std::vector<std::string> expected{"It", " isn't", " ", "123",  "45",  " HTTPServer",
                                          "!=", "a",      "B", "\n\n", "   ", " done"};
  BOOST_TEST(cut_words("It isn't 12345 HTTPServer!=aB\n\n    done") == expected,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(merges_join_known_tokens_in_order) {
  const auto v = train_bpe("abab abab abc", 4);
  BOOST_REQUIRE(v.tokens.size() == 260u);
  BOOST_TEST(v.tokens[0] == "!");
  BOOST_TEST(v.merges[0].first == "a");
  BOOST_TEST(v.merges[0].second == "b");
  for (std::size_t i = 0; i < v.merges.size(); ++i) {
    BOOST_TEST(v.tokens[256 + i] == v.merges[i].first + v.merges[i].second);
  }
  BOOST_TEST(train_bpe("aa", 100).merges.size() == 1u);
}

BOOST_AUTO_TEST_CASE(every_vocabulary_is_full) {
  for (const auto& name : recipe_names()) {
    const auto recipe = find_recipe(name);
    BOOST_REQUIRE(recipe);
    const auto parsed = json::parse(tokenizer_json(*recipe));
    BOOST_REQUIRE(parsed);
    const auto model = *parsed->find("model");
    BOOST_TEST(model.find("vocab")->size() == static_cast<std::size_t>(recipe->special_base));
    BOOST_TEST(model.find("merges")->size() == 640u);
    BOOST_TEST(model.find("ignore_merges")->boolean());
    const auto specials = parsed->find("added_tokens")->elements();
    BOOST_TEST(specials.size() == 128u);
    BOOST_TEST(specials[8].find("content")->string() == "<|eot|>");
    BOOST_TEST(*specials[8].find("id")->integer() == recipe->special_base + 8);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
