#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"

namespace glimmer {

/// Reads optional members of one JSON object of a configuration file; remembers the first refusal
/// and then does nothing, so that a list of fields reads as a list. An absent field leaves its
/// value as it is. A refusal names `file`, the field, and what is allowed.
class field_reader {
 public:
  field_reader(std::string_view file, json object) : file_{file}, object_{std::move(object)} {}

  bool refused() const { return refused_.has_value(); }
  const error& refusal() const { return *refused_; }
  void refuse(std::string sentence);

  /// The member unless it is absent or null.
  std::optional<json> find(std::string_view name) const;
  /// Refuses when the member is not there.
  void require(std::string_view name);

  /// A count that sizes memory: from `least` to 2^31 - 1.
  void count(std::string_view name, std::int64_t& to, std::int64_t least = 1);

  /// A finite number in (low, high].
  struct bounds {
    double low = 0;
    double high = 0;
  };
  void number(std::string_view name, float& to, bounds allowed);

  void token(std::string_view name, token_id& to);
  /// A token or a list of them.
  void tokens(std::string_view name, std::vector<token_id>& to);

  /// Refuses a text other than the one mechanism that is built.
  struct mechanism {
    std::string_view name;
    std::string_view built;
  };
  void only(mechanism m);
  /// Refuses everything but false.
  void never(std::string_view name);
  /// The base of the rotation, wherever it stands; scaled rotations are refused.
  void rope(float& theta);

  /// The member object as a reader of its own; an absent one reads as empty.
  field_reader inside(std::string_view name);
  /// Takes over the refusal of an inner reader.
  void absorb(const field_reader& inner);

  /// The number in as few digits as a sentence needs.
  static std::string shortest(double value);

 private:
  std::string file_;
  json object_;
  std::optional<error> refused_;
};

/// What the text of a configuration file parsed to, if it is an object.
result<json> parse_object(std::string_view file, result<json> parsed);

}  // namespace glimmer
