#pragma once

#include <cstddef>
#include <cstdint>

namespace glimmer {

/// What the public o200k pattern tells apart. Classes are disjoint and cover every code point.
enum class char_class : std::uint8_t {
  other,
  upper,     ///< Lu, Lt
  lower,     ///< Ll
  caseless,  ///< Lm, Lo
  mark,      ///< M
  number,    ///< N
  newline,   ///< CR, LF
  space,     ///< other white space
};

namespace detail {
// Generated when building, from the Unicode tables of the PCRE2 we link against: a code point's
// upper bits choose a row, its lower 8 bits the column.
extern const std::uint16_t char_class_rows[0x1100];
extern const std::uint8_t char_class_cells[][256];
}  // namespace detail

inline char_class class_of(char32_t c) {
  return static_cast<char_class>(
      detail::char_class_cells[detail::char_class_rows[c >> 8]][c & 0xff]);
}

}  // namespace glimmer
