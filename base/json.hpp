#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace glimmer {

namespace detail {
struct json_tree;
}

/// A position in a parsed JSON text. Copies are cheap and keep the text alive; immutable, so any
/// thread may read. Member order and the spelling of numbers are kept, because tool schemas and
/// arguments are rendered again into prompts.
class json {
 public:
  enum class kind : std::uint8_t { null, boolean, number, string, array, object };

  /// The value `null`.
  json();

  /// Parses a whole text (RFC 8259, UTF-8, no lone surrogates, nothing behind the value).
  /// Strict and complete: every byte is looked at, no call frame per level. A repeated member name
  /// keeps its first place and takes its last value. Texts up to 256 MiB.
  /// Fails with code "invalid_json" or "json_too_deep" and the byte offset in the sentence.
  static result<json> parse(std::string_view text, std::uint32_t depth_max = 256);

  kind type() const;
  bool is_null() const { return type() == kind::null; }
  bool is_string() const { return type() == kind::string; }
  bool is_number() const { return type() == kind::number; }
  bool is_array() const { return type() == kind::array; }
  bool is_object() const { return type() == kind::object; }
  bool is_boolean() const { return type() == kind::boolean; }

  /// Value of a boolean; asserts the kind, like the accessors below.
  bool boolean() const;
  /// Unescaped text of a string; valid while any copy of this document lives.
  std::string_view string() const;
  /// A number exactly as it was written, e.g. "1.50" or "1E3".
  std::string_view number_text() const;
  /// Nearest double; infinite when out of range.
  double number() const;
  /// The number as an integer, if its text has no '.', no exponent, and fits.
  std::optional<std::int64_t> integer() const;

  /// Elements of an array or members of an object.
  std::size_t size() const;
  /// First element (array) or first member's value (object); nullopt when empty.
  std::optional<json> first() const;
  /// The value behind this one in its container, nullopt at the end.
  std::optional<json> next() const;
  /// Name of this member, when its container is an object; else empty.
  std::string_view key() const;
  /// Value of the member named `key`; nullopt if absent or not an object.
  std::optional<json> find(std::string_view key) const;
  /// Element `index` of an array; walks, so use `elements` in loops.
  json at(std::size_t index) const;
  /// All elements or member values, in order.
  std::vector<json> elements() const;

 private:
  json(std::shared_ptr<const detail::json_tree> tree, std::uint32_t node);
  std::shared_ptr<const detail::json_tree> tree_;
  std::uint32_t node_ = 0;
};

std::string_view to_string(json::kind kind);

/// Writes JSON by appending to one string. Commas and colons are placed by the writer; the caller
/// nests rightly (asserted). Compact: no blanks.
class json_writer {
 public:
  explicit json_writer(std::string& out) : out_{out} {}

  json_writer& begin_object();
  json_writer& end_object();
  json_writer& begin_array();
  json_writer& end_array();
  json_writer& key(std::string_view name);
  json_writer& string(std::string_view text);  ///< must be valid UTF-8
  json_writer& boolean(bool value);
  json_writer& null();
  json_writer& integer(std::int64_t value);
  json_writer& unsigned_integer(std::uint64_t value);
  /// Shortest text that reads back as the same double; not finite becomes null.
  json_writer& number(double value);
  /// Appends text that already is one JSON value.
  json_writer& raw(std::string_view json_text);
  /// Writes a parsed value, numbers as they were spelled.
  json_writer& value(const json& v);

 private:
  void separate();
  std::string& out_;
  std::vector<bool> first_;  // per open container: nothing written yet
  bool after_key_ = false;
};

/// Appends `text` as a JSON string with quotes. Escapes only what must be: `"`, `\`, and below
/// U+0020 (short forms where they exist, else \u00xx in lower-case hex).
void append_json_string(std::string& out, std::string_view text);

}  // namespace glimmer
