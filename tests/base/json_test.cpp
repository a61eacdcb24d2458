#include "base/json.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace glimmer {

namespace {

json parsed(std::string_view text) {
  auto value = json::parse(text);
  BOOST_REQUIRE_MESSAGE(value.has_value(), (value ? "" : value.error().text) << " in " << text);
  return *value;
}

std::string refusal(std::string_view text) {
  const auto value = json::parse(text);
  BOOST_REQUIRE_MESSAGE(!value.has_value(), "accepted: " << text);
  BOOST_TEST(value.error().code == "invalid_json");
  BOOST_TEST((value.error().kind == error_kind::bad_request));
  return value.error().text;
}

std::string written(const json& value) {
  std::string out;
  json_writer{out}.value(value);
  return out;
}

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(json_test)

BOOST_AUTO_TEST_CASE(values_of_every_kind_are_read) {
  const auto v = parsed(R"( {"a":null,"b":true,"c":false,"d":1.50,"e":"x","f":[1,[],{}],"g":{}} )");
  BOOST_TEST(v.size() == 7u);
  BOOST_TEST(v.find("a")->is_null());
  BOOST_TEST(v.find("b")->boolean());
  BOOST_TEST(!v.find("c")->boolean());
  BOOST_TEST(v.find("d")->number_text() == "1.50");
  BOOST_TEST(v.find("e")->string() == "x");
  BOOST_TEST(v.find("f")->size() == 3u);
  BOOST_TEST(v.find("f")->at(2).is_object());
  BOOST_TEST(!v.find("h").has_value());
  BOOST_TEST(!v.find("f")->find("a").has_value());
}

BOOST_AUTO_TEST_CASE(members_keep_their_order_and_know_their_names) {
  const auto v = parsed(R"({"z":1,"a":2,"m":{"q":3}})");
  std::string names;
  for (auto m = v.first(); m; m = m->next()) names += m->key();
  BOOST_TEST(names == "zam");
  BOOST_TEST(v.key() == "");
  BOOST_TEST(parsed("[1]").at(0).key() == "");
  BOOST_TEST(v.elements().size() == 3u);
  BOOST_TEST(v.elements()[2].key() == "m");
}

BOOST_AUTO_TEST_CASE(a_scalar_is_a_whole_text) {
  BOOST_TEST(parsed("null").is_null());
  BOOST_TEST(parsed(" true\n").boolean());
  BOOST_TEST(parsed("\t\"\"\r").string() == "");
  BOOST_TEST(*parsed("-7").integer() == -7);
}

BOOST_AUTO_TEST_CASE(a_default_value_is_null_and_alone) {
  const json v;
  BOOST_TEST(v.is_null());
  BOOST_TEST(!v.next().has_value());
  BOOST_TEST(!v.find("a").has_value());
  BOOST_TEST(written(v) == "null");
}

BOOST_AUTO_TEST_CASE(a_copy_keeps_the_text_alive) {
  json inner;
  { inner = *parsed(R"({"a":["kept"]})").find("a"); }
  BOOST_TEST(inner.at(0).string() == "kept");
}

BOOST_AUTO_TEST_CASE(a_repeated_name_keeps_its_first_place_and_takes_its_last_value) {
  BOOST_TEST(written(parsed(R"({"a":1,"b":2,"a":{"x":[3]},"c":4})")) ==
             R"({"a":{"x":[3]},"b":2,"c":4})");
  BOOST_TEST(written(parsed(R"({"a":1,"a":2,"a":3})")) == R"({"a":3})");
  BOOST_TEST(written(parsed(R"({"b":0,"a":1,"b":{"b":1,"b":2}})")) == R"({"b":{"b":2},"a":1})");
  std::string many = "{";
  for (int i = 0; i < 40; ++i)
    many += "\"k" + std::to_string(i % 20) + "\":" + std::to_string(i) + ",";
  many.back() = '}';
  const auto v = parsed(many);
  BOOST_TEST(v.size() == 20u);
  BOOST_TEST(*v.first()->integer() == 20);
  BOOST_TEST(*v.find("k19")->integer() == 39);
}

BOOST_AUTO_TEST_CASE(escapes_are_resolved) {
  BOOST_TEST(parsed(R"("a\"\\\/\b\f\n\r\tz")").string() == "a\"\\/\b\f\n\r\tz");
  BOOST_TEST(parsed(R"("\u0041\u00e9\u20AC\ud83d\uDE00!")").string() ==
             "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80!");
  BOOST_TEST(parsed(R"("\u0000")").string() == std::string_view("\0", 1));
  BOOST_TEST(parsed(R"({"a\tb":1})").find("a\tb").has_value());
  BOOST_TEST(parsed("\"\x7f\xe2\x80\xa8\"").string() == "\x7f\xe2\x80\xa8");
}

BOOST_AUTO_TEST_CASE(numbers_keep_their_spelling) {
  for (const auto* text : {"0", "-0", "1.50", "1E3", "1e+03", "-1.0e-7",
                           "123456789012345678901234567890", "1e999", "0.1e1"}) {
    BOOST_TEST(parsed(text).number_text() == text);
    BOOST_TEST(written(parsed(text)) == text);
  }
}

BOOST_AUTO_TEST_CASE(numbers_round_to_the_nearest_double_or_infinity) {
  BOOST_TEST(parsed("0.1").number() == 0.1);
  BOOST_TEST(parsed("123456789012345678901234567890").number() == 123456789012345678901234567890.0);
  BOOST_TEST(std::isinf(parsed("1e999").number()));
  BOOST_TEST(parsed("-1e999").number() < 0);
  BOOST_TEST(parsed("1e-999").number() == 0.0);
  BOOST_TEST(std::isinf(parsed("1e99999999999999999999").number()));
  BOOST_TEST(parsed("1e-99999999999999999999").number() == 0.0);
  BOOST_TEST(parsed("0e99999").number() == 0.0);
  BOOST_TEST(std::isinf(parsed("0.0001e400").number()));
  BOOST_TEST(parsed("1000e-400").number() == 0.0);
  BOOST_TEST(std::isinf(parsed(std::string(400, '9')).number()));
  BOOST_TEST(parsed("0." + std::string(400, '0') + "1").number() == 0.0);
  BOOST_TEST(std::signbit(parsed("-0").number()));
}

BOOST_AUTO_TEST_CASE(an_integer_has_neither_fraction_nor_exponent_and_fits) {
  BOOST_TEST(*parsed("9223372036854775807").integer() == INT64_MAX);
  BOOST_TEST(*parsed("-9223372036854775808").integer() == INT64_MIN);
  BOOST_TEST(*parsed("-0").integer() == 0);
  for (const auto* text : {"9223372036854775808", "1.0", "1e2", "\"1\"", "true"}) {
    BOOST_TEST(!parsed(text).integer().has_value());
  }
}

BOOST_AUTO_TEST_CASE(malformed_texts_are_refused) {
  // One text a line.
  std::istringstream texts{R"-(
{
[
}
]
{]
[}
[1
[1,
[1,]
[,1]
[1,,2]
[1 2]
{"a"
{"a":
{"a":}
{"a":1
{"a":1,
{"a":1,}
{,"a":1}
{"a" 1}
{"a"::1}
{a:1}
{'a':1}
{1:1}
{"a":1 "b":2}
{"a":1,,"b":2}
1 2
{} {}
[] x
"a"b
1"a"
/* c */ 1
[1]//
)-"};
  for (std::string text; std::getline(texts, text);) refusal(text);
}

BOOST_AUTO_TEST_CASE(malformed_words_and_numbers_are_refused) {
  std::istringstream words{
      "nul tru fals nulll truefalse True None NaN Infinity -Infinity undefined 01 -01 1. .5 -.5 - "
      "+1 1e 1e+ 1.e3 0x10 1a 1_000 --1 1.2.3 00"};
  for (std::string text; words >> text;) refusal(text);
}

BOOST_AUTO_TEST_CASE(malformed_strings_are_refused) {
  std::istringstream words{
      R"-(" "a "\" "\x" "\u12" "\u12g4" "\u "\ 'a' "\ud800" "\ud800x" "\ud800\n" "\udc00")-"
      R"-( "\ud800\ud800" "\ud83d\u0041")-"};
  for (std::string text; words >> text;) refusal(text);
}

BOOST_AUTO_TEST_CASE(stray_bytes_are_refused) {
  using namespace std::string_literals;
  for (const auto& text :
       {""s, " "s, "\n\t"s, "\"a\nb\""s, "\"a\tb\""s, "\"a\0b\""s, "\"\x1f\""s, "// c\n1"s,
        "\xef\xbb\xbf{}"s, "\"\xff\""s, "\"\xc0\x80\""s, "\"\xed\xa0\x80\""s,
        "\"\xf4\x90\x80\x80\""s, "\"\xe2\x82\""s, "\x80"s, "\v1"s, "\f1"s, "1\0"s, "\0"s}) {
    refusal(text);
  }
}

BOOST_AUTO_TEST_CASE(an_error_names_the_byte) {
  BOOST_TEST(refusal(R"({"a":1,})") ==
             "The text is not valid JSON: a member's name is expected at byte 7.");
  BOOST_TEST(refusal(R"(["\ud800"])") == "The text is not valid JSON: a lone surrogate at byte 2.");
  BOOST_TEST(refusal("[1") == "The text is not valid JSON: the text ends too early at byte 2.");
  BOOST_TEST(refusal("[1] 2") ==
             "The text is not valid JSON: something stands behind the value at byte 4.");
  const auto far = "\"" + std::string(100'001, 'a') + "\xe2\x82\xac\xc3\x28\"";
  BOOST_TEST(refusal(far) == "The text is not valid JSON: invalid UTF-8 at byte 100005.");
}

BOOST_AUTO_TEST_CASE(a_text_as_deep_as_the_limit_passes_and_one_deeper_does_not) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  BOOST_TEST(json::parse(nested(256)).has_value());
  BOOST_TEST(!json::parse(nested(257)).has_value());
  BOOST_TEST(json::parse(nested(3), 3).has_value());
  BOOST_TEST(json::parse("1", 0).has_value());
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_brackets_are_refused_in_words) {
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  for (const auto& text : {std::string(100'000, '['), objects}) {
    const auto value = json::parse(text);
    BOOST_REQUIRE(!value.has_value());
    BOOST_TEST(value.error().code == "json_too_deep");
    BOOST_TEST(
        value.error().text.starts_with("The JSON is nested deeper than 256 levels at byte "));
  }
}

BOOST_AUTO_TEST_CASE(the_writer_places_commas_and_colons) {
  std::string out;
  json_writer w{out};
  w.begin_object().key("a").begin_array().integer(-1).unsigned_integer(2).null().end_array();
  w.key("b").begin_object().end_object().key("c").boolean(true).key("d").number(0.5);
  w.key("e").raw("[1, 2]").key("f").string("x\"").key("g").value(parsed(R"([1.50,"\u00e9"])"));
  w.key("h").number(std::nan("")).end_object();
  BOOST_TEST(out ==
             "{\"a\":[-1,2,null],\"b\":{},\"c\":true,\"d\":0.5,\"e\":[1, 2],\"f\":\"x\\\"\","
             "\"g\":[1.50,\"\xc3\xa9\"],\"h\":null}");
}

BOOST_AUTO_TEST_CASE(only_what_must_be_is_escaped) {
  BOOST_TEST(quoted("a\"b\\c/<>&'\x7f\xe2\x80\xa8") == "\"a\\\"b\\\\c/<>&'\x7f\xe2\x80\xa8\"");
  BOOST_TEST(quoted("\b\f\n\r\t") == R"("\b\f\n\r\t")");
  BOOST_TEST(quoted(std::string_view("\0\x1f\x0b", 3)) == R"("\u0000\u001f\u000b")");
  BOOST_TEST(quoted("") == R"("")");
}

namespace {

/// Random JSON text in the writer's own spelling.
void append_random_value(std::string& out, std::mt19937_64& random, int depth) {
  const auto pick = [&random](std::uint64_t n) { return random() % n; };
  const auto kind = pick(depth > 0 ? 7 : 5);
  switch (kind) {
    case 0: out += "null"; return;
    case 1: out += pick(2) ? "true" : "false"; return;
    case 2: out += std::to_string(static_cast<std::int64_t>(random())); return;
    case 3: out += std::to_string(pick(1000)) + ".250e-" + std::to_string(pick(30)); return;
    case 4: {
      std::string text;
      constexpr std::string_view pieces[] = {
          "a", "\"", "\\", "\n", "\x01", "\xc3\xa9", "\xf0\x9f\x98\x80", " plain words "};
      for (auto n = pick(12); n > 0; --n) text += pieces[pick(8)];
      append_json_string(out, text);
      return;
    }
    default: break;
  }
  out += kind == 5 ? '[' : '{';
  for (std::uint64_t i = 0, n = pick(13); i < n; ++i) {
    if (i > 0) out += ',';
    if (kind == 6) out += "\"k" + std::to_string(i) + "\":";
    append_random_value(out, random, depth - 1);
  }
  out += kind == 5 ? ']' : '}';
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_read_is_written_back_and_damage_never_crashes) {
  const std::uint64_t seed = 20260801;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    append_random_value(text, random, 5);
    BOOST_REQUIRE_EQUAL(written(parsed(text)), text);
    for (int damage = 0; damage < 5; ++damage) {
      auto broken = text;
      broken[random() % broken.size()] = static_cast<char>(random());
      if (const auto value = json::parse(broken)) {
        BOOST_REQUIRE(json::parse(written(*value)).has_value());
      }
      const auto cut = json::parse(text.substr(0, random() % text.size()));
      if (!cut) BOOST_REQUIRE(cut.error().code == "invalid_json");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
