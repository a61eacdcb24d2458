#include "parsers/number_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

namespace glimmer {

namespace {

/// sign digits [ '.' digits ] [ e sign digits ], taken apart.
struct decimal {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  std::string_view exponent_text;  // from the 'e' on
  std::int64_t exponent = 0;       // clamped; no double reaches the bounds
  bool plain() const { return fraction.empty() && exponent_text.empty(); }
};

std::string_view take_digits(std::string_view& rest) {
  const auto end =
      std::find_if_not(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
  const std::string_view digits = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest.remove_prefix(digits.size());
  return digits;
}

bool take_sign(std::string_view& rest) {
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  return negative;
}

bool take_exponent(std::string_view& rest, decimal& out) {
  constexpr std::int64_t bound = 1'000'000;
  out.exponent_text = rest;
  rest.remove_prefix(1);
  const bool negative = take_sign(rest);
  const std::string_view digits = take_digits(rest);
  for (char c : digits) out.exponent = std::min(bound, out.exponent * 10 + (c - '0'));
  if (negative) out.exponent = -out.exponent;
  return !digits.empty();
}

std::optional<decimal> take_apart(std::string_view text) {
  decimal out;
  out.negative = take_sign(text);
  out.whole = take_digits(text);
  if (out.whole.empty()) return std::nullopt;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    out.fraction = take_digits(text);
    if (out.fraction.empty()) return std::nullopt;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    if (!take_exponent(text, out)) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  while (out.whole.size() > 1 && out.whole.front() == '0') out.whole.remove_prefix(1);
  return out;
}

/// `digits` without zeros at its front, "0" if there is nothing else.
std::string signed_digits(bool negative, std::string digits) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return "0";
  if (negative) digits.insert(digits.begin(), '-');
  return digits;
}

/// The decimal as JSON spells it: no plus, no leading zeros.
std::string json_spelling(const decimal& d) {
  std::string out{d.negative ? "-" : ""};
  out += d.whole;
  if (!d.fraction.empty()) (out += '.') += d.fraction;
  return out += d.exponent_text;
}

bool is_finite(const decimal& d) {
  const std::string text = json_spelling(d);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc::result_out_of_range) return true;
  // Too large or too small: the decimal exponent of the first digit that counts tells.
  const std::string digits = std::string{d.whole} += d.fraction;
  const std::size_t first = digits.find_first_not_of('0');
  if (first == digits.npos) return true;
  return static_cast<std::int64_t>(d.whole.size()) - static_cast<std::int64_t>(first) + d.exponent <
         0;
}

/// All digits of an integral decimal; nullopt if it has a fraction.
std::optional<std::string> integral_digits(const decimal& d) {
  std::string digits = std::string{d.whole} += d.fraction;
  std::int64_t scale = d.exponent - static_cast<std::int64_t>(d.fraction.size());
  while (scale < 0 && !digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++scale;
  }
  if (digits.find_first_not_of('0') == digits.npos) return "0";
  if (scale < 0) return std::nullopt;
  return digits.append(static_cast<std::size_t>(scale), '0');
}

}  // namespace

std::optional<std::string> read_integer(std::string_view text) {
  const std::optional<decimal> d = take_apart(text);
  if (!d) return std::nullopt;
  if (d->plain()) return signed_digits(d->negative, std::string{d->whole});
  if (!is_finite(*d)) return std::nullopt;
  std::optional<std::string> digits = integral_digits(*d);
  if (!digits) return std::nullopt;
  return signed_digits(d->negative, std::move(*digits));
}

std::optional<std::string> read_number(std::string_view text) {
  const std::optional<decimal> d = take_apart(text);
  if (!d || !is_finite(*d)) return std::nullopt;
  return json_spelling(*d);
}

bool is_finite_number(std::string_view text) {
  const std::optional<decimal> d = take_apart(text);
  return d && is_finite(*d);
}

void append_prompt_number(std::string& out, std::string_view json_number) {
  if (json_number.find_first_of(".eE") == json_number.npos) {
    out += json_number == "-0" ? "0" : json_number;
    return;
  }
  double value = 0;
  const auto read =
      std::from_chars(json_number.data(), json_number.data() + json_number.size(), value);
  if (read.ec == std::errc::result_out_of_range) {
    out += json_number;
    return;
  }
  // Shortest digits first, as [-]d[.ddd]e±XX; then laid out the way Python does.
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view text{buffer, static_cast<std::size_t>(end.ptr - buffer)};
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), end.ptr, exponent);
  if (exponent < -4 || exponent >= 16) {
    out += text;
    return;
  }
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
  text = {buffer, static_cast<std::size_t>(fixed.ptr - buffer)};
  out += text;
  if (text.find('.') == text.npos) out += ".0";
}

}  // namespace glimmer
