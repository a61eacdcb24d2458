#include "tokenizer/vocabulary.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/tokenizer/fixture.hpp"
#include "tokenizer/byte_table.hpp"

namespace glimmer {

namespace {

std::string added(std::string_view skipped = {}) {
  std::string out = "[";
  for (std::size_t i = 0; i < control_token_count; ++i) {
    const std::string_view text = spelling(static_cast<control_token>(i));
    if (text == skipped) continue;
    if (out.size() > 1) out += ",";
    out += R"({"id":)" + std::to_string(100 + i) + R"(,"content":")" + std::string{text} + R"("})";
  }
  return out + "]";
}

result<vocabulary> read(const std::string& vocab, std::string_view specials = {}) {
  const std::string listed = specials.empty() ? added() : std::string{specials};
  return vocabulary::from_tokenizer_json(
      test::parse_json(R"({"model":{"vocab":)" + vocab + R"(},"added_tokens":)" + listed + "}"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(words)

BOOST_AUTO_TEST_CASE(base_tokens_are_bytes_and_special_tokens_are_spellings) {
  const auto words = read(R"({"a":0,"\u0120b":1,"\u00c3\u00a9":2,"\u0100":3,"\u0143":4})");
  BOOST_REQUIRE(words.has_value());
  BOOST_TEST(words->bytes(0) == "a");
  BOOST_TEST(words->bytes(1) == " b");
  BOOST_TEST(words->bytes(2) == "\u00e9");
  BOOST_TEST(words->bytes(3) == std::string_view("\0", 1));
  BOOST_TEST(words->bytes(4) == "\xad");
  BOOST_TEST(words->find("\u00e9").value() == 2);
  BOOST_TEST(!words->find("c").has_value());

  const token_id eot = words->id(control_token::eot);
  BOOST_TEST(words->special_spelling(eot) == "<|eot|>");
  BOOST_TEST(words->bytes(eot).empty());
  BOOST_TEST(words->is_special(eot));
  BOOST_TEST(!words->find("<|eot|>").has_value());
  BOOST_TEST(words->find_special("<|eot|>").value() == eot);
  BOOST_TEST(!words->find_special("a").has_value());
}

BOOST_AUTO_TEST_CASE(ids_come_from_the_file_and_gaps_are_unused) {
  const auto words = read(R"({"a":7})");
  BOOST_REQUIRE(words.has_value());
  BOOST_TEST(words->size() == 100 + control_token_count);
  BOOST_TEST(!words->contains(0));
  BOOST_TEST(!words->contains(-1));
  BOOST_TEST(!words->contains(1 << 30));
  BOOST_TEST(words->contains(7));
  BOOST_TEST(words->bytes(6).empty());
  BOOST_TEST(words->special_ids().size() == control_token_count);
}

BOOST_AUTO_TEST_CASE(a_special_token_listed_in_the_vocabulary_too_stays_special) {
  const auto words = read(R"({"a":0,"<|begin_of_text|>":100})");
  BOOST_REQUIRE(words.has_value());
  BOOST_TEST(words->is_special(100));
  BOOST_TEST(!words->find("<|begin_of_text|>").has_value());
}

BOOST_AUTO_TEST_CASE(a_missing_control_token_is_named) {
  for (std::size_t i = 0; i < control_token_count; ++i) {
    const std::string_view missing = spelling(static_cast<control_token>(i));
    const auto words = read(R"({"a":0})", added(missing));
    BOOST_REQUIRE(!words.has_value());
    BOOST_TEST(words.error().text.find(missing) != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(broken_vocabularies_are_refused) {
  BOOST_TEST(!read(R"({"a":0,"b":0})").has_value());
  BOOST_TEST(!read(R"({"a":-1})").has_value());
  BOOST_TEST(!read(R"({"a":1.5})").has_value());
  BOOST_TEST(!read(R"({"a":"0"})").has_value());
  BOOST_TEST(!read(R"({"a":2147483647})").has_value());
  BOOST_TEST(!read(R"({"a b":0})").has_value());
  BOOST_TEST(!read(R"({"":0})").has_value());
  BOOST_TEST(!read(R"({"a":100})").has_value());
  BOOST_TEST(!read("[]").has_value());
  BOOST_TEST(!read(R"({"a":0})", R"([{"id":1}])").has_value());
  BOOST_TEST(!read(R"({"a":0})", R"([{"id":1,"content":"x"},{"id":2,"content":"x"}])").has_value());
}

BOOST_AUTO_TEST_CASE(the_byte_alphabet_maps_each_byte_once) {
  std::vector<bool> seen(256);
  for (char32_t c = 0; c < 0x200; ++c) {
    std::string letter;
    append_utf8(letter, c);
    if (const auto byte = decode_byte_level(letter)) {
      BOOST_REQUIRE_EQUAL(byte->size(), 1);
      BOOST_REQUIRE(!seen[static_cast<unsigned char>((*byte)[0])]);
      seen[static_cast<unsigned char>((*byte)[0])] = true;
    }
  }
  BOOST_TEST(std::ranges::count(seen, true) == 256);
  BOOST_TEST(decode_byte_level("\u0120a\u010a").value() == " a\n");
}

BOOST_AUTO_TEST_CASE(the_byte_table_finds_what_was_filed_and_nothing_else) {
  byte_table table;
  std::vector<std::string> keys;
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    keys.push_back(std::string(i % 23, 'x') + std::to_string(i));
    table.insert(keys.back(), i);
  }
  const auto look_up = [&](std::string_view key) {
    return table.find(key, [&](std::uint32_t i) { return keys[i] == key; });
  };
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    BOOST_REQUIRE(look_up(keys[i]) != nullptr);
    BOOST_REQUIRE_EQUAL(*look_up(keys[i]), i);
  }
  BOOST_TEST(look_up("y") == nullptr);
  for (const std::string_view key : {"", "a", "sevenbyt", "sevenbyte"}) {
    byte_table bare;
    bare.insert(key, 7);
    const auto any = [](std::uint32_t) { return true; };
    BOOST_TEST(*bare.find(key, any) == 7U);
    // zeros at the end are bytes, and a long key is not another one of its length
    BOOST_TEST(bare.find(std::string{key} + '\0', any) == nullptr);
    BOOST_TEST(bare.find(key, [](std::uint32_t) { return false; }) ==
               (key.size() > 8 ? nullptr : bare.find(key, any)));
  }
  BOOST_TEST(byte_table{}.find("y", [](std::uint32_t) { return true; }) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
