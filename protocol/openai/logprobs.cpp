#include "protocol/openai/logprobs.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/json.hpp"

namespace glimmer {

namespace {

/// The character, or the beginning of one, in front of a text.
struct character {
  std::size_t bytes = 1;
  bool whole = false;
};

/// Table 3-7 of the Unicode standard: the second byte's range depends on the first.
character first_character(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto lead = byte(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xc2 || lead > 0xf4) return {1, false};
  const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const std::uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const std::uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (text.size() < 2 || byte(1) < low || byte(1) > high) return {1, false};
  std::size_t bytes = 2;
  while (bytes < size && bytes < text.size() && (byte(bytes) & 0xc0) == 0x80) ++bytes;
  return {bytes, bytes == size};
}

void append_entry(std::string& out, std::string_view token, float logprob) {
  out += "{\"token\":";
  append_lossy_json_string(out, token);
  out += ",\"logprob\":";
  append_finite(out, logprob);
  out += ",\"bytes\":[";
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (i > 0) out += ',';
    out += std::to_string(static_cast<std::uint8_t>(token[i]));
  }
  out += ']';
}

}  // namespace

void append_finite(std::string& out, float value) {
  if (!std::isfinite(value)) value = -9999.0f;
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

void append_logprob(std::string& out, const spelled_logprob& entry) {
  append_entry(out, entry.token, entry.logprob);
  out += ",\"top_logprobs\":[";
  bool first = true;
  for (const auto& [token, logprob] : entry.top) {
    if (!first) out += ',';
    first = false;
    append_entry(out, token, logprob);
    out += '}';
  }
  out += "]}";
}

void append_lossy_json_string(std::string& out, std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const auto next = first_character(bytes);
    text += next.whole ? bytes.substr(0, next.bytes) : std::string_view{"\xef\xbf\xbd"};
    bytes.remove_prefix(next.bytes);
  }
  append_json_string(out, text);
}

std::string lossy_json_string(std::string_view bytes) {
  std::string out;
  append_lossy_json_string(out, bytes);
  return out;
}

}  // namespace glimmer
