#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glimmer {

/// Reads an integer as models write it (a sign, leading zeros, or a decimal or exponent form of
/// integral value such as "5.0" and "1e3") and returns its JSON spelling, all digits kept.
std::optional<std::string> read_integer(std::string_view text);

/// The same plus fractions and exponents, as long as a double can hold them.
std::optional<std::string> read_number(std::string_view text);

/// Neither NaN nor out of a double's range. `text` is a JSON number.
bool is_finite_number(std::string_view text);

/// Appends a number as the prompt shows it (Python's spelling): integers exactly, others as the
/// shortest double with a decimal or an exponent.
void append_prompt_number(std::string& out, std::string_view json_number);

}  // namespace glimmer
