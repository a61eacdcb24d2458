#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/json.hpp"

namespace glimmer {

/// The first thing found wrong in a request. Readers go on behind a refusal with defaults and
/// whoever reads the whole asks once at the end.
struct refusal {
  std::optional<error> first;

  void add(error e) {
    if (!first) first = std::move(e);
  }
};

/// Integers from `low` to `high`; a whole-numbered decimal such as 5.0 counts.
struct integer_range {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

/// Finite numbers from `low` to `high`.
struct number_range {
  double low = 0;
  double high = 0;
};

/// The members of one object of a request, by name, kind and range. Absent and null are the same.
/// A member of the wrong kind or range is refused with its path and what is allowed, and reads as
/// absent. An object of too many members is refused and reads as empty.
class request_fields {
 public:
  static constexpr std::size_t members_max = 4096;  ///< where nobody asks for fewer

  /// `object` must be one; `path` is its place in the body, "" for the body itself. Keeps `wrong`
  /// by reference.
  request_fields(json object, std::string path, refusal& wrong, std::size_t size_max = members_max);

  std::optional<json> any(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;
  std::optional<std::string_view> string(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name, integer_range range = {}) const;
  std::optional<double> number(std::string_view name, number_range range) const;
  /// An array of at most `size_max` elements.
  std::optional<json> array(std::string_view name, std::size_t size_max) const;
  /// An object of at most `size_max` members.
  std::optional<request_fields> object(std::string_view name,
                                       std::size_t size_max = members_max) const;

  /// The body's path of a member, e.g. "messages[2].content".
  std::string path_of(std::string_view name) const;
  const json& value() const { return object_; }
  refusal& wrong() const { return wrong_; }

  /// Refuses a member; `text` completes the sentence "<path> ...".
  void refuse(std::string_view name, const std::string& text) const;
  /// Refuses a member that is known but not served.
  void refuse_unsupported(std::string_view name, const std::string& text) const;

 private:
  json object_;
  std::string path_;
  refusal& wrong_;
};

/// "list[3]".
std::string element_path(std::string_view list, std::size_t index);

/// An integer, or a decimal with a whole value.
std::optional<std::int64_t> whole_number(const json& value);

/// "a string", "an object", ...: what was found, in words.
std::string_view kind_in_words(const json& value);

}  // namespace glimmer
