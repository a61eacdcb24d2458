#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace glimmer {

/// A flag that a command knows. Its initial value says what it is when it is not given; "" and a
/// `meaning` that begins with "!" mark a switch without a value.
struct known_flag {
  std::string_view name;  ///< without dashes
  std::string_view initial;
  std::string_view meaning;  ///< for the help
};

/// The words behind a command: `--flag value`, `--flag=value`, switches, and plain words.
class command_line {
 public:
  /// Fails with one sentence for a flag that is not among `known` and for one without its value.
  static result<command_line> parse(std::span<const std::string> words,
                                    std::span<const known_flag> known);

  const std::vector<std::string>& plain() const { return plain_; }
  bool is_set(std::string_view flag) const { return values_.at(std::string{flag}) == "true"; }
  const std::string& text(std::string_view flag) const { return values_.at(std::string{flag}); }
  /// Whole numbers, separated by commas; at least one. Fails with one sentence otherwise.
  result<std::vector<std::uint32_t>> numbers(std::string_view flag) const;
  result<std::uint32_t> number(std::string_view flag) const;
  /// A number of at least 0.
  result<double> real(std::string_view flag) const;

 private:
  std::vector<std::string> plain_;
  std::map<std::string, std::string> values_;
};

/// One line a flag, for a command's help.
std::string flags_help(std::span<const known_flag> known);

}  // namespace glimmer
