#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace glimmer {

/// The first character of a byte string, or what stands in its place.
struct utf8_char {
  enum class state : std::uint8_t {
    whole,   ///< a character
    broken,  ///< a maximal sequence that no continuation can make a character
    cut,     ///< the text ends within what may still become a character
  };
  state what = state::broken;
  std::uint8_t length = 0;  ///< bytes it takes
  char32_t value = 0;       ///< only for whole ones
};

/// Looks at the start of `text`, which must not be empty.
utf8_char first_utf8_char(std::string_view text);

void append_utf8(std::string& out, char32_t c);

}  // namespace glimmer
