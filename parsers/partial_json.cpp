#include "parsers/partial_json.hpp"

#include <cstdint>
#include <utility>

#include "parsers/header.hpp"
#include "parsers/number_text.hpp"

namespace glimmer {

namespace {

constexpr std::uint32_t depth_max = 256;

bool is_container(const json& value) {
  return value.is_array() || value.is_object();
}

bool all_finite(const json& value) {
  if (value.is_number()) return is_finite_number(value.number_text());
  if (!is_container(value)) return true;
  for (auto child = value.first(); child; child = child->next()) {
    if (!all_finite(*child)) return false;
  }
  return true;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80 | ((code >> shift) & 0x3F));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    tail(12), tail(6), tail(0);
  }
}

/// Recursive descent that writes strict JSON as it reads; every step returns false on damage that
/// cannot be mended.
class repairer {
 public:
  explicit repairer(std::string_view text) : rest_{text} {}

  std::optional<std::string> run() {
    if (!container() || !trim_blanks(rest_).empty()) return std::nullopt;
    return std::move(out_);
  }

 private:
  bool value();
  bool container();
  bool member(bool named);
  bool string();
  bool escape(std::string& text);
  bool code_unit(std::uint32_t& unit);
  bool unicode_escape(std::string& text);
  bool literal();
  bool number();

  void skip() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  bool take(std::string_view expected) {
    const bool found = rest_.starts_with(expected);
    if (found) rest_.remove_prefix(expected.size());
    return found;
  }
  char front() const { return rest_.empty() ? '\0' : rest_.front(); }

  std::string_view rest_;
  std::string out_;
  std::uint32_t depth_ = 0;
};

bool repairer::value() {
  switch (front()) {
    case '{':
    case '[': return container();
    case '"':
    case '\'': return string();
    default: return literal() || number();
  }
}

bool repairer::container() {
  const bool object = front() == '{';
  if (!object && front() != '[') return false;
  if (++depth_ > depth_max) return false;
  const char closer = object ? '}' : ']';
  out_ += front();
  rest_.remove_prefix(1);
  skip();
  for (bool first = true; front() != closer; first = false) {
    if (!first) out_ += ',';
    if (!member(object)) return false;
    skip();
    if (!take(",") && front() != closer) return false;
    skip();
  }
  rest_.remove_prefix(1);
  out_ += closer;
  --depth_;
  return true;
}

bool repairer::member(bool named) {
  if (named) {
    if (!string()) return false;
    skip();
    if (!take(":")) return false;
    skip();
    out_ += ':';
  }
  return value();
}

bool repairer::string() {
  const char quote = front();
  if (quote != '"' && quote != '\'') return false;
  rest_.remove_prefix(1);
  std::string text;
  while (!rest_.empty()) {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == quote) {
      append_json_string(out_, text);
      return true;
    }
    if (c != '\\') {
      text += c;
    } else if (!escape(text)) {
      return false;
    }
  }
  return false;
}

bool repairer::escape(std::string& text) {
  constexpr std::string_view letters = "\"\\/'bfnrt";
  constexpr std::string_view meanings = "\"\\/'\b\f\n\r\t";
  if (take("u")) return unicode_escape(text);
  const std::size_t which = rest_.empty() ? letters.npos : letters.find(rest_.front());
  if (which == letters.npos) return false;
  rest_.remove_prefix(1);
  text += meanings[which];
  return true;
}

bool repairer::code_unit(std::uint32_t& unit) {
  unit = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = front();
    const bool digit = c >= '0' && c <= '9';
    const char letter = static_cast<char>(c | 0x20);
    if (!digit && (letter < 'a' || letter > 'f')) return false;
    unit = unit * 16 + static_cast<std::uint32_t>(digit ? c - '0' : letter - 'a' + 10);
    rest_.remove_prefix(1);
  }
  return true;
}

/// A code point, or a pair of surrogates; a lone one is damage.
bool repairer::unicode_escape(std::string& text) {
  std::uint32_t unit = 0;
  if (!code_unit(unit)) return false;
  if (unit >= 0xD800 && unit < 0xDC00) {
    std::uint32_t low = 0;
    if (!take("\\u") || !code_unit(low) || low < 0xDC00 || low > 0xDFFF) return false;
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  } else if (unit >= 0xDC00 && unit < 0xE000) {
    return false;
  }
  append_utf8(text, unit);
  return true;
}

bool repairer::literal() {
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"true", "true"}, {"false", "false"}, {"null", "null"},
      {"True", "true"}, {"False", "false"}, {"None", "null"},
  };
  for (const auto& [written, meant] : words) {
    if (!take(written)) continue;
    out_ += meant;
    return true;
  }
  return false;
}

bool repairer::number() {
  const std::size_t end = std::min(rest_.find_first_not_of("+-.0123456789eE"), rest_.size());
  const std::string_view text = rest_.substr(0, end);
  if (!is_finite_number(text) || !json::parse(text)) return false;
  out_ += text;
  rest_.remove_prefix(end);
  return true;
}

}  // namespace

std::optional<json> read_strict_json(std::string_view text) {
  auto parsed = json::parse(text);
  if (!parsed || !all_finite(*parsed)) return std::nullopt;
  return std::move(*parsed);
}

std::optional<std::string> repair_json(std::string_view text) {
  text = trim_blanks(text);
  if (const auto strict = read_strict_json(text)) {
    if (!is_container(*strict)) return std::nullopt;
    std::string out;
    json_writer{out}.value(*strict);
    return out;
  }
  return repairer{text}.run();
}

}  // namespace glimmer
