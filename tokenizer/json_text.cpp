#include "tokenizer/json_text.hpp"

#include <charconv>
#include <cmath>
#include <string_view>

namespace glimmer {

namespace {

/// A finite double as its shortest decimal digits: 0.d1d2d3... times ten to `point`.
struct decimal {
  std::string digits;
  int point = 0;
};

decimal shortest(double magnitude) {
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, magnitude, std::chars_format::scientific);
  const std::string_view all{text, static_cast<std::size_t>(end.ptr - text)};
  const std::size_t e = all.find('e');
  decimal out;
  for (const char c : all.substr(0, e)) {
    if (c != '.') out.digits += c;
  }
  const std::size_t sign = all[e + 1] == '+' ? 1 : 0;  // from_chars takes no plus
  std::from_chars(text + e + 1 + sign, end.ptr, out.point);
  ++out.point;
  return out;
}

/// Python's repr: plain from 1e-4 up to below 1e16, else with a two-digit exponent.
void append_double(std::string& out, double value) {
  if (std::signbit(value)) out += '-';
  if (std::isinf(value)) {
    out += "Infinity";
    return;
  }
  const decimal d = shortest(std::fabs(value));
  const auto count = static_cast<int>(d.digits.size());
  const auto zeros = [&](int n) { out.append(static_cast<std::size_t>(n), '0'); };
  if (d.point < -3 || d.point > 16) {
    const int exponent = std::abs(d.point - 1);
    out += d.digits[0];
    if (count > 1) out.append(".").append(d.digits, 1);
    out += d.point > 0 ? "e+" : "e-";
    if (exponent < 10) out += '0';
    out += std::to_string(exponent);
  } else if (d.point <= 0) {
    out += "0.";
    zeros(-d.point);
    out += d.digits;
  } else if (count <= d.point) {
    out += d.digits;
    zeros(d.point - count);
    out += ".0";
  } else {
    const auto whole = static_cast<std::size_t>(d.point);
    out.append(d.digits, 0, whole).append(".").append(d.digits, whole);
  }
}

}  // namespace

void append_template_number(std::string& out, const json& number) {
  const std::string_view text = number.number_text();
  if (text.find_first_of(".eE") != text.npos) {
    append_double(out, number.number());
  } else {
    out += text == "-0" ? "0" : text;
  }
}

void append_template_json(std::string& out, const json& value) {
  switch (value.type()) {
    case json::kind::null: out += "null"; return;
    case json::kind::boolean: out += value.boolean() ? "true" : "false"; return;
    case json::kind::number: append_template_number(out, value); return;
    case json::kind::string: append_json_string(out, value.string()); return;
    case json::kind::array:
    case json::kind::object: break;
  }
  // Depth is bounded by the parser's limit, so the recursion is too.
  out += value.is_array() ? '[' : '{';
  for (auto member = value.first(); member;) {
    if (value.is_object()) {
      append_json_string(out, member->key());
      out += ": ";
    }
    append_template_json(out, *member);
    member = member->next();
    if (member) out += ", ";
  }
  out += value.is_array() ? ']' : '}';
}

}  // namespace glimmer
