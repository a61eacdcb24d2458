#pragma once

#include <cstddef>
#include <string_view>

namespace glimmer {

/// Longest header, in bytes of its text.
inline constexpr std::size_t header_bytes_max = 256;

/// Space, tab, CR or LF: what separates the parts of a header and of markup.
constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// `text` without the blanks around it.
std::string_view trim_blanks(std::string_view text);

/// Where a header's text begins.
enum class header_place {
  bare,    ///< at the start of the turn or behind `<|eom|>`
  framed,  ///< behind `<|start|>`: other roles count too
};

/// What the text between the opening of a header and `<|message|>` is.
struct header_match {
  enum class kind {
    none,      ///< no header, whatever follows
    prefix,    ///< the beginning of one
    complete,  ///< a header of the assistant; `recipient` is empty when it names none
    foreign,   ///< a header of someone else
  };
  kind what = kind::none;
  std::string_view recipient;  ///< into the text
};

/// Reads header text:
///   blanks [assistant blanks] [to= blanks RECIPIENT] blanks
/// and, framed, `user`, `system`, `developer`, `tool [NAME]`. Role words in any letter case. Texts
/// over `header_bytes_max` are none.
header_match match_header(std::string_view text, header_place place);

}  // namespace glimmer
