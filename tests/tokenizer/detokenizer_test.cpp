#include "tokenizer/detokenizer.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/tokenizer/fixture.hpp"

namespace glimmer {

namespace {

const std::string characters =
    "a\u00e9\u4e2d\U0001f600\U0001f469\u200d\U0001f469\u200d\U0001f467 \u0915\u094d\u0937"
    "\U00020000\U0010ffff\ufffdz";

bool is_whole(std::string_view text) {
  while (!text.empty()) {
    const utf8_char c = first_utf8_char(text);
    if (c.what != utf8_char::state::whole) return false;
    text.remove_prefix(c.length);
  }
  return true;
}

/// All of `bytes` at once, then the end.
std::string mended(std::string_view bytes) {
  utf8_stream stream;
  std::string out;
  stream.push(bytes, out);
  stream.finish(out);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(detokenizing)

BOOST_AUTO_TEST_CASE(text_cut_at_any_two_places_comes_out_whole_and_in_whole_characters) {
  for (std::size_t i = 0; i <= characters.size(); ++i) {
    for (std::size_t k = i; k <= characters.size(); ++k) {
      const std::string_view text = characters;
      utf8_stream stream;
      std::string out;
      for (const auto part : {text.substr(0, i), text.substr(i, k - i), text.substr(k)}) {
        stream.push(part, out);
        BOOST_REQUIRE(is_whole(out));
        BOOST_REQUIRE(stream.held() < 4);
      }
      BOOST_REQUIRE(out == characters);
      BOOST_REQUIRE(stream.held() == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(byte_by_byte_nothing_is_late) {
  utf8_stream stream;
  std::string out;
  std::size_t fed = 0;
  for (const char& c : characters) {
    stream.push({&c, 1}, out);
    BOOST_REQUIRE_EQUAL(out.size() + stream.held(), ++fed);
    if (fed == characters.size() || (characters[fed] & 0xc0) != 0x80) {
      BOOST_REQUIRE_EQUAL(stream.held(), 0);
    }
  }
  BOOST_TEST(out == characters);
}

BOOST_AUTO_TEST_CASE(each_broken_sequence_becomes_one_replacement) {
  BOOST_TEST(mended("a\xff"
                    "b") == "a\ufffdb");
  BOOST_TEST(mended("\xe4\xb8") == "\ufffd");
  BOOST_TEST(mended("\xf0\x9f\x98") == "\ufffd");
  BOOST_TEST(mended("\xe4\xb8"
                    "a") == "\ufffda");
  BOOST_TEST(mended("\xe4\xe4\xb8\xad") == "\ufffd\u4e2d");
  BOOST_TEST(mended("\xc0\x80") == "\ufffd\ufffd");
  BOOST_TEST(mended("\xed\xa0\x80") == "\ufffd\ufffd\ufffd");
  BOOST_TEST(mended("") == "");
}

BOOST_AUTO_TEST_CASE(random_bytes_give_the_same_text_however_they_are_cut) {
  std::mt19937_64 random{3};
  const std::string alphabet = "a\x80\xbf\xc3\xe4\xb8\xad\xed\xa0\xf0\x9f\x98\xf4\x90\xff";
  for (int round = 0; round < 3'000; ++round) {
    std::string bytes;
    for (int i = 0; i < 12; ++i) bytes += alphabet[random() % alphabet.size()];
    const std::string expected = mended(bytes);
    BOOST_REQUIRE(is_whole(expected));
    utf8_stream stream;
    std::string out;
    for (std::size_t i = 0; i < bytes.size();) {
      const std::size_t length = 1 + random() % 3;
      stream.push(std::string_view{bytes}.substr(i, length), out);
      BOOST_REQUIRE(is_whole(out));
      i += length;
    }
    stream.finish(out);
    BOOST_REQUIRE(out == expected);
  }
}

BOOST_AUTO_TEST_CASE(tokens_give_back_the_text_they_were_made_from) {
  const auto tokens = test::release_like();
  test::text_source source{17};
  for (int i = 0; i < 300; ++i) {
    const std::string text = source.text(30);
    detokenizer stream{tokens};
    std::string out;
    const auto ids = tokens->encode(text);
    BOOST_REQUIRE(ids.has_value());
    for (const token_id id : *ids) {
      stream.push(id, out);
      BOOST_REQUIRE(is_whole(out));
    }
    stream.finish(out);
    BOOST_REQUIRE(out == text);
  }
}

BOOST_AUTO_TEST_CASE(special_tokens_are_not_text_but_have_a_spelling) {
  const auto tokens = test::release_like();
  detokenizer stream{tokens};
  std::string out;
  const token_id eot = tokens->id(control_token::eot);
  stream.push(eot, out);
  BOOST_TEST(out.empty());
  BOOST_TEST(stream.is_special(eot));
  BOOST_TEST(stream.token_bytes(eot) == "<|eot|>");
}

BOOST_AUTO_TEST_CASE(a_character_broken_off_by_the_end_becomes_one_replacement) {
  const auto tokens = test::release_like();
  detokenizer stream{tokens};
  std::string out;
  stream.push(*tokens->words().find("\xf0"), out);
  stream.push(*tokens->words().find("\x9f"), out);
  BOOST_TEST(out.empty());
  BOOST_TEST(stream.held() == 2);
  BOOST_TEST(stream.token_bytes(*tokens->words().find("\x9f")) == "\x9f");
  stream.finish(out);
  BOOST_TEST(out == "\ufffd");
  stream.finish(out);
  BOOST_TEST(out == "\ufffd");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
