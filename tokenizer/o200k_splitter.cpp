#include "tokenizer/o200k_splitter.hpp"

#include <array>
#include <cstdint>
#include <optional>

#include "tokenizer/char_class.hpp"
#include "tokenizer/utf8.hpp"

namespace glimmer {

const std::string_view o200k_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

using enum char_class;

/// A set of classes.
struct class_set {
  unsigned bits = 0;
  template <class... Classes>
  explicit constexpr class_set(Classes... classes) : bits{((1U << unsigned(classes)) | ...)} {}
  constexpr bool has(char_class c) const { return bits >> unsigned(c) & 1; }
};

constexpr class_set head_letters{upper, caseless, mark};  // what a word may begin with
constexpr class_set tail_letters{lower, caseless, mark};  // what it ends with
constexpr class_set soft_letters{caseless, mark};         // both
constexpr class_set symbols{other, mark};                 // neither space, letter nor number
constexpr class_set spaces{newline, space};

/// The set of each ASCII byte's own class; empty for other bytes.
const std::array<std::uint8_t, 256> ascii_sets = [] {
  std::array<std::uint8_t, 256> out{};
  for (unsigned byte = 0; byte < 0x80; ++byte) {
    out[byte] = static_cast<std::uint8_t>(1U << unsigned(class_of(byte)));
  }
  return out;
}();

struct seen {
  char_class what = other;
  std::size_t length = 1;
};

/// Finds the end of the piece that begins at a position. The numbers are those of the pattern's
/// alternatives; the first that matches wins, as in Perl.
class piece_finder {
 public:
  explicit piece_finder(std::string_view text) : text_{text} {}

  std::size_t end_of_piece(std::size_t begin) const {
    const seen first = at(begin);
    if (const auto end = word(begin, first)) return contraction(*end);
    if (first.what == number) return digits(begin);
    if (const auto end = symbol_run(begin, first)) return *end;
    return blanks(begin);
  }

 private:
  bool more(std::size_t i) const { return i < text_.size(); }

  seen at(std::size_t i) const {
    const auto byte = static_cast<unsigned char>(text_[i]);
    if (byte < 0x80) return {class_of(byte), 1};
    const utf8_char c = first_utf8_char(text_.substr(i));
    if (c.what != utf8_char::state::whole) return {other, c.length};
    return {class_of(c.value), c.length};
  }

  std::size_t run(std::size_t i, class_set set) const {
    for (;;) {
      i = ascii_run(i, set);
      if (!more(i) || is_ascii(i)) return i;
      const seen c = at(i);
      if (!set.has(c.what)) return i;
      i += c.length;
    }
  }

  /// Nearly all text is runs of ASCII.
  std::size_t ascii_run(std::size_t i, class_set set) const {
    while (more(i) && (ascii_sets[static_cast<unsigned char>(text_[i])] & set.bits) != 0) ++i;
    return i;
  }
  bool is_ascii(std::size_t i) const { return static_cast<signed char>(text_[i]) >= 0; }

  /// 1 and 2 up to the contraction: an optional character before the letters, then the letters.
  std::optional<std::size_t> word(std::size_t begin, seen first) const {
    switch (first.what) {
      case upper:
      case lower:
      case caseless: return letters(begin);
      case number:
      case newline: return {};
      case mark:  // alternative 1 takes it as the character before, or else as a letter
        if (const auto end = mixed_letters(begin + first.length)) return end;
        return mixed_letters(begin);
      default: return letters(begin + first.length);
    }
  }

  std::optional<std::size_t> letters(std::size_t begin) const {
    if (const auto end = mixed_letters(begin)) return end;
    const std::size_t end = run(begin, head_letters);  // 2: only upper-case letters are left
    return end > begin ? std::optional{end} : std::nullopt;
  }

  /// 1: head letters*, tail letters+. Where no lower-case letter follows the heads, the last of
  /// them that is also a tail has to be the tail.
  std::optional<std::size_t> mixed_letters(std::size_t begin) const {
    if (const auto end = ascii_run(begin, class_set{lower}); end > begin) {
      return run(end, tail_letters);
    }
    std::size_t i = begin, soft_end = begin;
    while (more(i)) {
      const seen c = at(i);
      if (c.what == lower) return run(i, tail_letters);
      if (!head_letters.has(c.what)) break;
      i += c.length;
      if (soft_letters.has(c.what)) soft_end = i;
    }
    return soft_end > begin ? std::optional{soft_end} : std::nullopt;
  }

  /// (?i:'s|'t|'re|'ve|'m|'ll|'d)? In Unicode the long s (U+017F) is an s of another case.
  std::size_t contraction(std::size_t i) const {
    if (text_.size() - i < 2 || text_[i] != '\'') return i;
    const std::string_view rest = text_.substr(i + 1);
    const auto letter = [&](std::size_t k) { return k < rest.size() ? rest[k] | 0x20 : 0; };
    switch (letter(0)) {
      case 's':
      case 't':
      case 'm':
      case 'd': return i + 2;
      case 'r':
      case 'v': return letter(1) == 'e' ? i + 3 : i;
      case 'l': return letter(1) == 'l' ? i + 3 : i;
      default: return rest.starts_with("\u017f") ? i + 3 : i;
    }
  }

  /// 3: \p{N}{1,3}
  std::size_t digits(std::size_t i) const {
    for (int count = 0; count < 3 && more(i); ++count) {
      const seen c = at(i);
      if (c.what != number) break;
      i += c.length;
    }
    return i;
  }

  /// 4: ` ?[^\s\p{L}\p{N}]+[\r\n/]*`
  std::optional<std::size_t> symbol_run(std::size_t begin, seen first) const {
    const std::size_t from = begin + (text_[begin] == ' ' ? first.length : 0);
    std::size_t end = run(from, symbols);
    if (end == from) return {};
    while (more(end) && (text_[end] == '\r' || text_[end] == '\n' || text_[end] == '/')) ++end;
    return end;
  }

  /// 5: up to the last line break of the run; 6: all of it at the end of the text, else all but
  /// the last blank, which belongs to the next piece; 7: a lone blank.
  std::size_t blanks(std::size_t begin) const {
    std::size_t i = begin, line_end = begin, last = begin;
    while (more(i)) {
      const seen c = at(i);
      if (!spaces.has(c.what)) break;
      last = i;
      i += c.length;
      if (c.what == newline) line_end = i;
    }
    if (line_end > begin) return line_end;
    if (!more(i) || last == begin) return i;
    return last;
  }

  std::string_view text_;
};

}  // namespace

result<void> o200k_splitter::split(std::string_view text, const piece_ends& pieces,
                                   piece_ends& out) const {
  std::size_t begin = 0;
  for (const std::uint32_t end : pieces) {
    const piece_finder finder{text.substr(0, end)};
    while (begin < end) {
      begin = finder.end_of_piece(begin);
      out.push_back(static_cast<std::uint32_t>(begin));
    }
  }
  return {};
}

}  // namespace glimmer
