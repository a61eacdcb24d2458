#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace glimmer {

/// Bytes at the front of `text` that stand in a JSON string as they are: none is `"`, `\` or below
/// U+0020. Eight bytes at a time, because bodies carry megabytes of base64 and prose.
inline std::size_t json_plain_run(std::string_view text) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr std::uint64_t tops = ones * 0x80;
  // The top bit of a byte of (x - k) & ~x tells x < k; a borrow can only add a false alarm, which
  // the byte loop below sorts out.
  const auto below = [](std::uint64_t x, std::uint64_t k) { return (x - ones * k) & ~x & tops; };
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if (below(word, 0x20) | below(word ^ ones * '"', 1) | below(word ^ ones * '\\', 1)) break;
  }
  while (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x20 || c == '"' || c == '\\') break;
    ++at;
  }
  return at;
}

}  // namespace glimmer
