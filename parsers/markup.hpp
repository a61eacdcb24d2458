#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/channel.hpp"

namespace glimmer {

enum class tag_kind : std::uint8_t {
  calls_open,
  calls_close,
  invoke_open,
  invoke_close,
  parameter_open,
  parameter_close,
};

/// One tag of call markup.
struct markup_tag {
  tag_kind kind = tag_kind::calls_open;
  bool prefixed = true;    ///< written with `atem:`
  bool corrupted = false;  ///< a real control token stands inside
  std::size_t end = 0;     ///< behind its last byte
  std::string name;        ///< first `name` that is not empty, without blanks around it
};

/// Call markup as text with real control tokens in it. Reads loosely: `atem:` or quotes may be
/// missing, other attributes are skipped, a `<|message|>` between tags is a blank. The body must
/// outlive it.
class markup {
 public:
  /// The first `size` bytes of `body`.
  markup(const tool_body& body, std::size_t size)
      : body_{body}, text_{std::string_view{body.text}.substr(0, size)} {}

  std::size_t size() const { return text_.size(); }
  std::string_view text(tool_body::range part) const {
    return text_.substr(part.begin, part.end - part.begin);
  }

  /// Place of the next '<' that is text, else `size()`.
  std::size_t next_angle(std::size_t from) const;
  /// Place of the first byte that is neither blank nor `<|message|>`.
  std::size_t skip_blanks(std::size_t from) const;
  bool is_blank_run(tool_body::range part) const { return skip_blanks(part.begin) >= part.end; }

  /// The tag whose '<' stands at `at`.
  std::optional<markup_tag> tag_at(std::size_t at) const;
  /// The same, closers alone.
  std::optional<markup_tag> closer_at(std::size_t at) const;
  /// What stands at `at` up to the end begins `</atem:function_calls>`.
  bool ends_in_calls_closer(std::size_t at) const;

 private:
  struct tag_word;
  struct attribute;

  const tool_body::marker* marker_at(std::size_t at) const;
  bool message_at(std::size_t at) const;
  std::optional<tag_word> word_at(std::size_t at) const;
  bool read_attributes(std::size_t at, markup_tag& tag) const;
  bool read_attribute(attribute& out, markup_tag& tag) const;
  bool read_value(attribute& out, markup_tag& tag) const;
  bool read_marker(attribute& out, markup_tag& tag) const;
  bool tag_ends_before(std::size_t at) const;

  const tool_body& body_;
  std::string_view text_;
};

}  // namespace glimmer
