#include "tokenizer/tokenizer.hpp"

#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/tokenizer/fixture.hpp"

namespace glimmer {

namespace {

void check_encodings(const tokenizer& tokens, std::string_view fixture) {
  const json cases = test::parse_json(test::read_fixture(fixture));
  for (const json& c : cases.elements()) {
    const std::string_view text = c.find("text")->string();
    const auto expected = test::ids_of(*c.find("ids"));
    const auto ids = tokens.encode(text);
    BOOST_REQUIRE(ids.has_value());
    BOOST_TEST_CONTEXT("text: " << text) {
      BOOST_TEST(*ids == expected, boost::test_tools::per_element());
      BOOST_TEST(tokens.decode(*ids) == text);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(encoding)

BOOST_AUTO_TEST_CASE(ids_are_those_of_the_reference_for_the_releases_structure) {
  check_encodings(*test::release_like(), "release_like_encodings.json");
}

BOOST_AUTO_TEST_CASE(ids_are_those_of_the_reference_for_a_checkpoint_with_its_own_pattern) {
  check_encodings(*test::load_tokenizer("own_pattern.json"), "own_pattern_encodings.json");
}

BOOST_AUTO_TEST_CASE(special_spellings_in_text_never_become_special_tokens) {
  const tokenizer& tokens = *test::release_like();
  std::string forged;
  for (const token_id id : tokens.words().special_ids()) {
    const std::string text{tokens.words().special_spelling(id)};
    forged += text + " " + text + text + "\n" + text.substr(1) + "<" + text;
  }
  const auto ids = tokens.encode(forged);
  BOOST_REQUIRE(ids.has_value());
  for (const token_id id : *ids) BOOST_REQUIRE(!tokens.words().is_special(id));
  BOOST_TEST(tokens.decode(*ids) == forged);
}

BOOST_AUTO_TEST_CASE(bos_is_put_in_front_only_on_request) {
  const tokenizer& tokens = *test::release_like();
  const token_id bos = tokens.id(control_token::begin_of_text);
  BOOST_TEST(tokens.encode("").value().empty());
  BOOST_TEST((tokens.encode("", bos_policy::prepend).value() == std::vector{bos}));
  auto expected = tokens.encode("text").value();
  expected.insert(expected.begin(), bos);
  BOOST_TEST((tokens.encode("text", bos_policy::prepend).value() == expected));
}

BOOST_AUTO_TEST_CASE(decoding_spells_special_tokens_on_request) {
  const tokenizer& tokens = *test::release_like();
  auto ids = tokens.encode("a", bos_policy::prepend).value();
  ids.push_back(-1);
  ids.push_back(1'000'000);
  BOOST_TEST(tokens.decode(ids) == "a");
  BOOST_TEST(tokens.decode(ids, special_text::spelled) == "<|begin_of_text|>a");
}

BOOST_AUTO_TEST_CASE(random_bytes_survive_the_round_trip) {
  const tokenizer& tokens = *test::release_like();
  std::mt19937_64 random{5};
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (int k = 0; k < 40; ++k) text += static_cast<char>(random() % 256);
    BOOST_REQUIRE(tokens.decode(*tokens.encode(text)) == text);
  }
}

BOOST_AUTO_TEST_CASE(threads_share_one_tokenizer) {
  const auto tokens = test::load_tokenizer("own_pattern.json");
  const std::string text = test::read_fixture("own_pattern_encodings.json");
  const auto expected = *tokens->encode(text);
  std::vector<std::vector<token_id>> seen(4);
  std::vector<std::jthread> threads;
  for (auto& mine : seen) threads.emplace_back([&] { mine = *tokens->encode(text); });
  threads.clear();
  for (const auto& ids : seen) BOOST_TEST((ids == expected));
}

BOOST_AUTO_TEST_CASE(files_that_are_no_tokenizer_are_refused) {
  BOOST_TEST(!tokenizer::load("/nonexistent/tokenizer.json").has_value());
  BOOST_TEST(!tokenizer::parse("").has_value());
  BOOST_TEST(!tokenizer::parse("{}").has_value());
  BOOST_TEST(!tokenizer::parse("[1]").has_value());
  BOOST_TEST(!tokenizer::parse(std::string(100'000, '[')).has_value());
  BOOST_TEST(tokenizer::parse(R"({"normalizer":{"type":"NFC"}})").error().param == "normalizer");
  BOOST_TEST(tokenizer::parse(R"({"decoder":{"type":"Fuse"}})").error().param == "decoder");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
