// The hand-written splitter, PCRE2 on the same pattern, and what a tokenizer.json may ask for.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/tokenizer/fixture.hpp"
#include "tokenizer/char_class.hpp"
#include "tokenizer/o200k_splitter.hpp"
#include "tokenizer/pretokenizer.hpp"
#include "tokenizer/regex_splitter.hpp"

namespace glimmer {

namespace {

using pieces = std::vector<std::string>;

pieces cut(const splitter& by, const std::string& text) {
  piece_ends ends;
  const piece_ends whole{static_cast<std::uint32_t>(text.size())};
  const auto done = by.split(text, text.empty() ? piece_ends{} : whole, ends);
  BOOST_REQUIRE(done.has_value());
  pieces out;
  std::size_t begin = 0;
  for (const std::uint32_t end : ends) {
    out.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  BOOST_REQUIRE_EQUAL(begin, text.size());
  return out;
}

const splitter& by_pcre2() {
  static const auto compiled = regex_splitter::compile(o200k_pattern);
  BOOST_REQUIRE(compiled.has_value());
  return **compiled;
}

void check_equal(const std::string& text) {
  const pieces mine = cut(o200k_splitter{}, text), theirs = cut(by_pcre2(), text);
  BOOST_CHECK_EQUAL_COLLECTIONS(mine.begin(), mine.end(), theirs.begin(), theirs.end());
}

std::string code_point(char32_t c) {
  std::string out;
  append_utf8(out, c);
  return out;
}

result<pretokenizer> read(const std::string& text) {
  return pretokenizer::from_tokenizer_json(test::parse_json(text));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(splitting)

BOOST_AUTO_TEST_CASE(words_keep_the_character_before_them_and_their_contraction) {
  const auto is = [](const std::string& text, const pieces& expected) {
    BOOST_TEST(cut(o200k_splitter{}, text) == expected, boost::test_tools::per_element());
    check_equal(text);
  };
  is("Hello, world!", {"Hello", ",", " world", "!"});
  is("I'll we'VE o'clock", {"I'll", " we'VE", " o", "'clock"});
  is("x'\u017f y'\u212a", {"x'\u017f", " y", "'\u212a"});
  is("camelCaseHTTPServer", {"camel", "Case", "HTTPServer"});
  is("12345 a1b", {"123", "45", " a", "1", "b"});
  is("a//b\n\n c", {"a", "//", "b", "\n\n", " c"});
  is("  two   three ", {" ", " two", "  ", " three", " "});
  is("\r\n \n x", {"\r\n \n", " x"});
  is("e\u0301A\u0301", {"e\u0301", "A\u0301"});
  is("", {});
}

BOOST_AUTO_TEST_CASE(every_code_point_is_classified_as_pcre2_does) {
  // Once between letters, once between blanks, once before a contraction.
  for (char32_t c = 0; c < 0x110000; c += 16) {
    std::string text;
    for (char32_t i = c; i < c + 16; ++i) {
      if (i >= 0xd800 && i < 0xe000) continue;
      text += "aB" + code_point(i) + "b  " + code_point(i) + " '" + code_point(i) + "'s1";
    }
    const pieces mine = cut(o200k_splitter{}, text), theirs = cut(by_pcre2(), text);
    BOOST_REQUIRE_MESSAGE(mine == theirs, "block " << std::uint32_t{c});
  }
}

BOOST_AUTO_TEST_CASE(random_text_is_cut_as_pcre2_cuts_it) {
  test::text_source source{20260104};
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = source.text(40);
    const pieces mine = cut(o200k_splitter{}, text), theirs = cut(by_pcre2(), text);
    if (mine != theirs) check_equal(text);
    BOOST_REQUIRE_MESSAGE(mine == theirs, "text " << i << ": " << text);
  }
}

BOOST_AUTO_TEST_CASE(a_short_alphabet_is_walked_whole) {
  const std::vector<std::string> letters = {"a", "A", "\u0301", "\u4e2d", "1", "'",
                                            "s", " ", "\n",     "/",      "\t"};
  std::vector<std::string> texts = {""};
  for (int length = 0; length < 4; ++length) {
    std::vector<std::string> longer;
    for (const std::string& text : texts) {
      for (const std::string& letter : letters) longer.push_back(text + letter);
    }
    for (const std::string& text : longer) {
      BOOST_REQUIRE_MESSAGE(cut(o200k_splitter{}, text) == cut(by_pcre2(), text), text);
    }
    texts = std::move(longer);
  }
}

BOOST_AUTO_TEST_CASE(broken_bytes_are_kept_whoever_cuts) {
  std::mt19937_64 random{7};
  for (int i = 0; i < 2'000; ++i) {
    std::string text;
    for (int k = 0; k < 20; ++k) text += static_cast<char>(random() % 256);
    cut(o200k_splitter{}, text);
    cut(by_pcre2(), text);
  }
}

BOOST_AUTO_TEST_CASE(a_megabyte_of_one_letter_is_one_piece_for_either) {
  for (const std::string letter : {"a", "A", " ", "\n", "\u4e2d", "\u0301", "-"}) {
    std::string text;
    while (text.size() < 1'000'000) text += letter;
    check_equal(text);
    check_equal(text + "x");
  }
}

BOOST_AUTO_TEST_CASE(the_public_pattern_is_recognised_and_any_other_is_compiled) {
  const auto own = make_splitter(o200k_pattern);
  BOOST_REQUIRE(own.has_value());
  BOOST_TEST(dynamic_cast<const o200k_splitter*>(own->get()) != nullptr);
  const auto other = make_splitter(R"(\d+|\w+)");
  BOOST_REQUIRE(other.has_value());
  BOOST_TEST(cut(**other, "ab, 12") == (pieces{"ab", ", ", "12"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_pattern_that_matches_nothing_still_moves_on) {
  const auto empty = make_splitter("x*");
  BOOST_REQUIRE(empty.has_value());
  BOOST_TEST(cut(**empty, "a\u00e9xx") == (pieces{"a", "\u00e9", "xx"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_broken_pattern_is_refused_with_its_place) {
  const auto broken = make_splitter("a(b");
  BOOST_REQUIRE(!broken.has_value());
  BOOST_TEST(broken.error().text.find("at byte 3") != std::string::npos, broken.error().text);
  BOOST_TEST(!make_splitter(R"([\S])").has_value());
  BOOST_TEST(!make_splitter("[a[b]]").has_value());
  BOOST_TEST(make_splitter(R"([[:alpha:]\s]+)").has_value());
}

BOOST_AUTO_TEST_CASE(splits_in_sequence_cut_finer_and_finer) {
  const auto both = read(R"({"type":"Sequence","pretokenizers":[
    {"type":"Split","pattern":{"Regex":"\\s"},"behavior":"Isolated","invert":false},
    {"type":"Split","pattern":{"Regex":"^a"},"behavior":"Isolated","invert":false},
    {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})");
  BOOST_REQUIRE(both.has_value());
  const auto ends = both->split("ab aab");
  BOOST_REQUIRE(ends.has_value());
  BOOST_TEST(*ends == (piece_ends{1, 2, 3, 4, 6}), boost::test_tools::per_element());
  BOOST_TEST(both->split("")->empty());
}

BOOST_AUTO_TEST_CASE(what_is_not_served_is_refused_by_name) {
  const auto names = [](const std::string& text, std::string_view name) {
    const auto refused = read(text);
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().code == "unsupported_tokenizer");
    BOOST_TEST(refused.error().text.find(name) != std::string::npos, refused.error().text);
  };
  names(R"({"type":"Metaspace"})", "Metaspace");
  names(R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":true})", "own regex");
  names(R"({"type":"ByteLevel","add_prefix_space":true,"use_regex":false})", "prefix space");
  names(R"({"type":"Split","pattern":{"String":" "},"behavior":"Isolated"})", "Regex");
  names(R"({"type":"Split","pattern":{"Regex":" "},"behavior":"Removed"})", "Removed");
  names(R"({"type":"Split","pattern":{"Regex":" "},"behavior":"Isolated","invert":true})",
        "inverted");
  names(R"({"type":"Sequence","pretokenizers":[{"type":"Digits"}]})", "Digits");
  names(R"({"type":"Sequence","pretokenizers":[{"type":"Sequence"}]})", "within a Sequence");
  names("7", "");
  BOOST_TEST(read("null").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
