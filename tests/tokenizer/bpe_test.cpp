#include "tokenizer/bpe.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/tokenizer/fixture.hpp"

namespace glimmer {

namespace {

/// The definition, word for word: look at all pairs, merge the leftmost of the lowest rank, again.
std::vector<token_id> by_definition(const bpe& merges, std::vector<token_id> tokens) {
  for (;;) {
    merge_rule best;
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const merge_rule rule = merges.rule_of(tokens[i], tokens[i + 1]);
      if (rule.rank < best.rank) {
        best = rule;
        place = i;
      }
    }
    if (best.rank == merge_rule::no_rank) return tokens;
    tokens[place] = best.product;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

struct model {
  vocabulary words;
  bpe merges;
};

/// A tokenizer.json without special treatment of whole words, and with one more change.
result<model> read(std::string_view change_from = {}, const std::string& change_to = {}) {
  std::string text = test::read_fixture("own_pattern.json");
  if (!change_from.empty()) {
    const std::size_t at = text.find(change_from);
    BOOST_REQUIRE_MESSAGE(at != text.npos, change_from);
    text.replace(at, change_from.size(), change_to);
  }
  const json root = test::parse_json(text);
  auto words = vocabulary::from_tokenizer_json(root);
  if (!words) return fail(words.error());
  auto merges = bpe::from_tokenizer_json(root, *words);
  if (!merges) return fail(merges.error());
  return model{std::move(*words), std::move(*merges)};
}

std::vector<token_id> bytes_of(const model& m, std::string_view text) {
  std::vector<token_id> out;
  for (const char& c : text) out.push_back(*m.words.find({&c, 1}));
  return out;
}

std::vector<token_id> encode(const model& m, std::string_view text) {
  std::vector<token_id> out;
  repeated_pieces none{0};
  m.merges.encode(hashed_bytes{text}, m.words, none, out);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(merging)

BOOST_AUTO_TEST_CASE(short_and_long_pieces_follow_the_definition) {
  const model m = *read();
  test::text_source source{11};
  for (int i = 0; i < 1'500; ++i) {
    std::string text = i % 3 != 0 ? source.text(30) : std::string{};
    // Words of the training text merge deeply; every length around the border is met.
    constexpr std::string_view prose = "the ferryman's stories were longer than the crossing there";
    while (text.size() < source.number(120)) text += prose.substr(source.number(40), 18);
    if (text.empty()) continue;
    BOOST_REQUIRE_MESSAGE(encode(m, text) == by_definition(m.merges, bytes_of(m, text)), text);
  }
}

BOOST_AUTO_TEST_CASE(runs_of_one_letter_follow_the_definition_at_every_length) {
  const model m = *read();
  for (const char letter : {' ', 'e', '-', 's'}) {
    for (std::size_t length = 1; length < 130; ++length) {
      const std::string text(length, letter);
      BOOST_REQUIRE(encode(m, text) == by_definition(m.merges, bytes_of(m, text)));
    }
  }
}

// Long enough that candidates are sorted by the digits of their ranks.
BOOST_AUTO_TEST_CASE(pieces_of_many_hundred_bytes_follow_the_definition) {
  const model m = *read();
  test::text_source source{12};
  for (int i = 0; i < 40; ++i) {
    std::string text;
    while (text.size() < 300 + source.number(700)) {
      text += i % 2 == 0 ? source.text(30) : std::string(1 + source.number(40), 'e');
      text += std::string_view{"thereallytherestories"}.substr(source.number(20));
    }
    BOOST_REQUIRE_MESSAGE(encode(m, text) == by_definition(m.merges, bytes_of(m, text)), text);
  }
}

// Quadratic work would take an hour and run into the test's time limit.
BOOST_AUTO_TEST_CASE(a_megabyte_in_one_piece_is_merged_without_quadratic_work) {
  const model m = *read();
  const std::string text(1'000'000, ' ');
  const auto tokens = encode(m, text);
  BOOST_TEST(tokens.size() < text.size());
  std::size_t bytes = 0;
  for (const token_id id : tokens) bytes += m.words.bytes(id).size();
  BOOST_TEST(bytes == text.size());
}

BOOST_AUTO_TEST_CASE(pieces_that_came_before_have_the_tokens_they_had) {
  const model m = *read();
  test::text_source source{13};
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back(source.text(20) + "crossing");
  repeated_pieces before{4'000};
  std::vector<token_id> out, expected;
  for (int i = 0; i < 4'000; ++i) {
    const auto& text = texts[source.number(texts.size())];
    m.merges.encode(hashed_bytes{text}, m.words, before, out);
    for (const auto token : encode(m, text)) expected.push_back(token);
  }
  BOOST_TEST((out == expected));
}

BOOST_AUTO_TEST_CASE(a_piece_that_is_a_token_is_taken_whole_only_if_the_file_says_so) {
  const model plain = *read();
  const model whole = *read(R"("ignore_merges":false)", R"("ignore_merges":true)");
  std::size_t unreachable = 0;
  for (std::size_t id = 0; id < plain.words.size(); ++id) {
    const auto bytes = plain.words.bytes(static_cast<token_id>(id));
    if (bytes.empty()) continue;
    BOOST_REQUIRE(encode(whole, bytes) == std::vector{static_cast<token_id>(id)});
    if (encode(plain, bytes).size() > 1) ++unreachable;
  }
  BOOST_TEST(unreachable > 10);
}

BOOST_AUTO_TEST_CASE(models_that_would_be_served_wrongly_are_refused) {
  const auto refused = [](std::string_view from, const std::string& to, std::string_view why) {
    const auto m = read(from, to);
    BOOST_REQUIRE(!m.has_value());
    BOOST_TEST(m.error().text.find(why) != std::string::npos, m.error().text);
  };
  refused(R"("type":"BPE")", R"("type":"Unigram")", "not BPE");
  refused(R"("dropout":null)", R"("dropout":0.1)", "dropout");
  refused(R"("continuing_subword_prefix":null)", R"("continuing_subword_prefix":"##")", "prefix");
  refused(R"("end_of_word_suffix":null)", R"("end_of_word_suffix":"</w>")", "suffix");
  refused(R"("merges":[)", R"("merges":["a zzz",)", "Merge 0");
  refused(R"("merges":[)", R"("merges":["ab",)", "Merge 0");
  refused(R"("merges":[)", R"("merges":[["a"],)", "Merge 0");
  refused(R"("!":0)", R"("zzzz":0)", "byte 33");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
