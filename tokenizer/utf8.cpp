#include "tokenizer/utf8.hpp"

namespace glimmer {

namespace {

/// What a lead byte promises: how many bytes follow, and the range of the first of them (later
/// ones are 80..BF). RFC 3629; the narrow ranges keep out overlong forms, surrogates and values
/// beyond U+10FFFF.
struct lead {
  std::uint8_t following = 0;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xbf;
};

lead lead_of(std::uint8_t byte) {
  if (byte < 0xc2) return {};
  if (byte < 0xe0) return {1};
  if (byte == 0xe0) return {2, 0xa0, 0xbf};
  if (byte == 0xed) return {2, 0x80, 0x9f};
  if (byte < 0xf0) return {2};
  if (byte == 0xf0) return {3, 0x90, 0xbf};
  if (byte < 0xf4) return {3};
  if (byte == 0xf4) return {3, 0x80, 0x8f};
  return {};
}

}  // namespace

utf8_char first_utf8_char(std::string_view text) {
  using enum utf8_char::state;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (byte(0) < 0x80) return {whole, 1, byte(0)};
  lead expected = lead_of(byte(0));
  if (expected.following == 0) return {broken, 1, 0};

  char32_t value = byte(0) & (0x3f >> expected.following);
  for (std::uint8_t i = 1; i <= expected.following; ++i) {
    if (i == text.size()) return {cut, i, 0};
    if (byte(i) < expected.low || byte(i) > expected.high) return {broken, i, 0};
    value = value << 6 | (byte(i) & 0x3f);
    expected.low = 0x80;
    expected.high = 0xbf;
  }
  return {whole, static_cast<std::uint8_t>(expected.following + 1), value};
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

}  // namespace glimmer
