#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "tokenizer/tokenizer.hpp"
#include "tokenizer/utf8.hpp"

namespace glimmer::test {

inline std::string fixture_path(std::string_view name) {
  return std::string{GLIMMER_SOURCE_ROOT} + "/tests/tokenizer/fixtures/" + std::string{name};
}

inline std::string read_fixture(std::string_view name) {
  std::ifstream file{fixture_path(name), std::ios::binary};
  BOOST_REQUIRE_MESSAGE(file, "fixture " << name);
  return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

inline json parse_json(std::string_view text) {
  auto parsed = json::parse(text);
  BOOST_REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().text));
  return *parsed;
}

inline std::shared_ptr<const tokenizer> load_tokenizer(std::string_view name) {
  auto loaded = tokenizer::load(fixture_path(name));
  BOOST_REQUIRE_MESSAGE(loaded.has_value(), (loaded ? "" : loaded.error().text));
  return *loaded;
}

/// The small tokenizer with the release's structure; read once.
inline const std::shared_ptr<const tokenizer>& release_like() {
  static const auto loaded = load_tokenizer("release_like.json");
  return loaded;
}

/// A turn as tokens: spellings in angle brackets are control tokens.
inline std::vector<token_id> turn_tokens(std::string_view turn) {
  std::vector<token_id> out;
  const tokenizer& words = *release_like();
  while (!turn.empty()) {
    const bool control = turn.starts_with("<|");
    const auto end = control ? turn.find("|>") + 2 : std::min(turn.find("<|"), turn.size());
    const auto run = turn.substr(0, end);
    if (control) {
      out.push_back(words.words().find_special(run).value());
    } else {
      BOOST_REQUIRE(words.append(run, out));
    }
    turn.remove_prefix(end);
  }
  return out;
}

inline std::vector<token_id> ids_of(const json& array) {
  std::vector<token_id> ids;
  for (const json& id : array.elements()) ids.push_back(static_cast<token_id>(*id.integer()));
  return ids;
}

/// Strings over all of Unicode, thick with the characters that split patterns care about.
class text_source {
 public:
  explicit text_source(std::uint64_t seed) : random_{seed} { BOOST_TEST_MESSAGE("seed " << seed); }

  std::string text(std::size_t characters_max) {
    std::string out;
    for (std::size_t left = number(characters_max + 1); left > 0; --left) {
      const std::string piece = character();
      const std::size_t times = number(8) == 0 ? number(6) : 1;
      for (std::size_t i = 0; i < times; ++i) out += piece;
    }
    return out;
  }

  std::size_t number(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>{0, below - 1}(random_);
  }

 private:
  std::string character() {
    static const std::vector<std::string> spice = {
        "a",          "b",      "e",      "l",      "L",      "m",      "M",       "r",
        "R",          "s",      "S",      "t",      "T",      "v",      "V",       "d",
        "D",          "Z",      "'",      "'s",     "'LL",    "'Ve",    "'\u017f", "\u017f",
        " ",          "  ",     "\n",     "\r",     "\r\n",   "\t",     "/",       "//",
        "0",          "12",     "9999",   "-",      ".",      "\v",     "\f",      "\u0085",
        "\u00a0",     "\u2028", "\u180e", "\u3000", "\u212a", "\u0130", "\u0301",  "\u0e33",
        "\u0903",     "\u20e3", "\u01c5", "\u02b0", "\u4e2d", "\u00aa", "\u0660",  "\u2167",
        "\U0001f600", "\u200d"};
    if (number(3) > 0) return spice[number(spice.size())];
    const std::size_t planes[] = {0x250, 0x3000, 0x10000, 0x20000, 0x110000};
    char32_t c = 0;
    do c = static_cast<char32_t>(number(planes[number(5)]));
    while (c >= 0xd800 && c < 0xe000);
    std::string out;
    append_utf8(out, c);
    return out;
  }

  std::mt19937_64 random_;
};

}  // namespace glimmer::test
