#include "base/json.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>

#include "base/json_scan.hpp"
#include "base/json_tree.hpp"

namespace glimmer {

// Of simdjson only the UTF-8 check is used. Its On-Demand reader accepts malformed text wherever
// nobody looks (`{"a":}`), its DOM refuses integers beyond 64 bits and forgets how a number was
// spelled; both hide the byte offset of an error. The strict reader below is one loop over the
// bytes with its own stack, so that the depth of a text costs no call frames.

namespace {

using detail::json_node;
using detail::json_tree;

constexpr std::size_t text_bytes_max = (std::size_t{1} << 28) - 2;

error not_json(std::string_view what, std::size_t offset) {
  return {error_kind::bad_request, "invalid_json", "",
          fmt::format("The text is not valid JSON: {} at byte {}.", what, offset)};
}

error too_deep(std::uint32_t depth_max, std::size_t offset) {
  return {error_kind::bad_request, "json_too_deep", "",
          fmt::format("The JSON is nested deeper than {} levels at byte {}.", depth_max, offset)};
}

bool is_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::size_t character_bytes(char lead) {
  const auto c = static_cast<unsigned char>(lead);
  return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/// Offset of the first character that is not UTF-8. Blocks first, so that megabytes cost little.
std::size_t first_invalid_character(std::string_view text) {
  constexpr std::size_t block = 4096;
  std::size_t at = 0;
  while (at < text.size()) {
    auto end = std::min(at + block, text.size());
    while (end < text.size() && end > at && is_continuation(text[end])) --end;
    if (end == at || !is_utf8(text.substr(at, end - at))) break;
    at = end;
  }
  while (at < text.size()) {
    const auto character = text.substr(at, character_bytes(text[at]));
    if (!is_utf8(character)) break;
    at += character.size();
  }
  return at;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// Reads one text into a tree. The text ends in a NUL that belongs to no value, so that looking
/// one byte ahead is always allowed.
class json_reader {
 public:
  json_reader(json_tree& tree, std::uint32_t depth_max)
      : tree_{tree}, text_{tree.text.data()}, size_{tree.text.size()}, depth_max_{depth_max} {}

  std::optional<error> read() {
    while (expected_ != expectation::nothing) {
      skip_blanks();
      if (!step()) return std::move(failure_);
    }
    skip_blanks();
    if (at_ != size_) return not_json("something stands behind the value", at_);
    return std::nullopt;
  }

 private:
  enum class expectation : std::uint8_t {
    value,
    value_or_end,  // behind '['
    name_or_end,   // behind '{'
    name,
    comma_or_end,
    nothing,
  };

  struct open_container {
    std::uint32_t node;
    std::uint32_t last_child = 0;
  };

  struct byte_range {
    std::size_t begin;
    std::size_t end;
  };

  struct named_member {
    std::size_t hash;
    std::uint32_t node;
  };

  bool fail_at(std::string_view what, std::size_t offset) {
    failure_ = not_json(offset == size_ ? "the text ends too early" : what, offset);
    return false;
  }
  bool fail(std::string_view what) { return fail_at(what, at_); }

  void skip_blanks() {
    while (is_blank(text_[at_])) ++at_;
  }

  bool step() {
    const char c = text_[at_];
    switch (expected_) {
      case expectation::value_or_end:
        if (c == ']') return close();
        [[fallthrough]];
      case expectation::value: return read_value(c);
      case expectation::name_or_end:
        if (c == '}') return close();
        [[fallthrough]];
      case expectation::name: return c == '"' ? read_name() : fail("a member's name is expected");
      case expectation::comma_or_end: return read_comma_or_end(c);
      case expectation::nothing: break;
    }
    return false;
  }

  bool read_value(char c) {
    switch (c) {
      case '{': return open(json::kind::object, expectation::name_or_end);
      case '[': return open(json::kind::array, expectation::value_or_end);
      case '"': return add_child(json::kind::string) && read_string() && value_done();
      case 't': return read_word("true", json::kind::boolean);
      case 'f': return read_word("false", json::kind::boolean);
      case 'n': return read_word("null", json::kind::null);
      default: break;
    }
    if (c == '-' || is_digit(c)) return read_number();
    return fail("a value is expected");
  }

  bool read_name() {
    add_node(json::kind::string);
    if (!read_string()) return false;
    skip_blanks();
    if (text_[at_] != ':') return fail("':' is expected");
    ++at_;
    expected_ = expectation::value;
    return true;
  }

  bool read_comma_or_end(char c) {
    const bool in_object = kind_of(stack_.back().node) == json::kind::object;
    if (c == (in_object ? '}' : ']')) return close();
    if (c != ',') return fail(in_object ? "',' or '}' is expected" : "',' or ']' is expected");
    ++at_;
    expected_ = in_object ? expectation::name : expectation::value;
    return true;
  }

  bool open(json::kind kind, expectation inside) {
    if (stack_.size() == depth_max_) {
      failure_ = too_deep(depth_max_, at_);
      return false;
    }
    add_child(kind);
    stack_.push_back({last_node()});
    ++at_;
    expected_ = inside;
    return true;
  }

  bool close() {
    const auto container = stack_.back().node;
    stack_.pop_back();
    ++at_;
    if (kind_of(container) == json::kind::object) join_repeated_names(container);
    return value_done();
  }

  bool value_done() {
    expected_ = stack_.empty() ? expectation::nothing : expectation::comma_or_end;
    return true;
  }

  bool read_word(std::string_view word, json::kind kind) {
    if (std::string_view{text_ + at_, size_ - at_}.substr(0, word.size()) != word) {
      return fail("a value is expected");
    }
    add_child(kind);
    tree_.nodes.back().size = word == "true" ? 1 : 0;
    at_ += word.size();
    return value_done();
  }

  bool read_digits() {
    if (!is_digit(text_[at_])) return fail("a digit is expected");
    while (is_digit(text_[at_])) ++at_;
    return true;
  }

  bool read_number() {
    const auto begin = at_;
    add_child(json::kind::number);
    if (text_[at_] == '-') ++at_;
    if (text_[at_] == '0') {
      ++at_;
    } else if (!read_digits()) {
      return false;
    }
    if (text_[at_] == '.') {
      ++at_;
      if (!read_digits()) return false;
    }
    if (text_[at_] == 'e' || text_[at_] == 'E') {
      ++at_;
      if (text_[at_] == '+' || text_[at_] == '-') ++at_;
      if (!read_digits()) return false;
    }
    set_text({begin, at_});
    return value_done();
  }

  // Strings shrink when they are unescaped, so the result is written over the source.
  bool read_string() {
    const auto begin = ++at_;
    auto out = begin;
    while (true) {
      const auto run = json_plain_run({text_ + at_, size_ - at_});
      if (out != at_) std::memmove(text_ + out, text_ + at_, run);
      out += run;
      at_ += run;
      const char c = text_[at_];
      if (c == '"') break;
      if (c != '\\') return fail("a control character in a string must be escaped,");
      if (!read_escape(out)) return false;
    }
    ++at_;
    set_text({begin, out});
    return true;
  }

  bool read_escape(std::size_t& out) {
    const auto begin = at_++;
    const char c = text_[at_];
    if (c == 'u') return read_unicode_escape(begin, out);
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view values = "\"\\/\b\f\n\r\t";
    const auto i = names.find(c);
    if (i == std::string_view::npos) return fail("an unknown escape");
    text_[out++] = values[i];
    ++at_;
    return true;
  }

  bool read_unicode_escape(std::size_t begin, std::size_t& out) {
    std::uint32_t unit = 0;
    if (!read_hex4(unit)) return false;
    std::uint32_t point = unit;
    if (unit >= 0xd800 && unit < 0xe000) {
      std::uint32_t low = 0;
      if (unit >= 0xdc00 || text_[at_] != '\\' || text_[at_ + 1] != 'u') {
        return fail_at("a lone surrogate", begin);
      }
      ++at_;
      if (!read_hex4(low)) return false;
      if (low < 0xdc00 || low >= 0xe000) return fail_at("a lone surrogate", begin);
      point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    out += write_utf8(point, text_ + out);
    return true;
  }

  // at_ stands on the 'u'.
  bool read_hex4(std::uint32_t& unit) {
    ++at_;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = text_[at_];
      const auto digit =
          std::string_view{"0123456789abcdef"}.find(c >= 'A' && c <= 'F' ? c + 32 : c);
      if (digit == std::string_view::npos) return fail("four hexadecimal digits are expected");
      unit = unit * 16 + static_cast<std::uint32_t>(digit);
    }
    return true;
  }

  static std::size_t write_utf8(std::uint32_t point, char* out) {
    if (point < 0x80) {
      out[0] = static_cast<char>(point);
      return 1;
    }
    const std::size_t bytes = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (std::size_t i = bytes; --i > 0; point >>= 6) {
      out[i] = static_cast<char>(0x80 | (point & 0x3f));
    }
    constexpr std::array<std::uint32_t, 5> lead = {0, 0, 0xc0, 0xe0, 0xf0};
    out[0] = static_cast<char>(lead[bytes] | point);
    return bytes;
  }

  // --- the tree ---------------------------------------------------------------------------------

  std::uint32_t last_node() const { return static_cast<std::uint32_t>(tree_.nodes.size() - 1); }
  json::kind kind_of(std::uint32_t node) const {
    return static_cast<json::kind>(tree_.nodes[node].kind);
  }

  void add_node(json::kind kind) {
    tree_.nodes.push_back({.kind = static_cast<std::uint32_t>(kind)});
  }

  /// Adds a value to the innermost open container, or as the root.
  bool add_child(json::kind kind) {
    add_node(kind);
    if (stack_.empty()) return true;
    auto& [container, last_child] = stack_.back();
    const auto child = last_node();
    auto& parent = tree_.nodes[container];
    tree_.nodes[child].member = parent.kind == static_cast<std::uint32_t>(json::kind::object);
    if (last_child == 0) {
      parent.offset = child;
    } else {
      tree_.nodes[last_child].next = child;
    }
    last_child = child;
    ++parent.size;
    return true;
  }

  void set_text(byte_range text) {
    tree_.nodes.back().offset = static_cast<std::uint32_t>(text.begin);
    tree_.nodes.back().size = static_cast<std::uint32_t>(text.end - text.begin);
  }

  std::string_view name_of(std::uint32_t member) const {
    const auto& name = tree_.nodes[member - 1];
    return {text_ + name.offset, name.size};
  }

  /// Small objects are compared pair by pair, others are left in `members_`, equal names together.
  bool has_repeated_names(std::uint32_t object) {
    const auto& nodes = tree_.nodes;
    constexpr std::uint32_t few = 8;
    members_.clear();
    for (auto m = nodes[object].offset; m != 0; m = nodes[m].next) {
      members_.push_back({nodes[object].size <= few ? 0 : name_hash(m), m});
    }
    if (members_.size() <= few) {
      for (std::size_t i = 1; i < members_.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (same_name(members_[i], members_[j])) return true;
        }
      }
      return false;
    }
    sort_members_by_name();
    return std::adjacent_find(members_.begin(), members_.end(),
                              [this](auto a, auto b) { return same_name(a, b); }) != members_.end();
  }

  bool same_name(named_member a, named_member b) const {
    return a.hash == b.hash && name_of(a.node) == name_of(b.node);
  }

  std::size_t name_hash(std::uint32_t member) const {
    return std::hash<std::string_view>{}(name_of(member));
  }

  // By hash, which is fast; where hashes agree by name, so that nobody can choose names that make
  // it slow. Equal names stay in order.
  void sort_members_by_name() {
    std::sort(members_.begin(), members_.end(), [this](named_member a, named_member b) {
      if (a.hash != b.hash) return a.hash < b.hash;
      const auto order = name_of(a.node).compare(name_of(b.node));
      return order != 0 ? order < 0 : a.node < b.node;
    });
  }

  /// A repeated name keeps its first place and takes its last value.
  void join_repeated_names(std::uint32_t object) {
    if (!has_repeated_names(object)) return;
    sort_members_by_name();
    std::vector<std::pair<std::uint32_t, std::uint32_t>> kept;  // first place, last value
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (i == 0 || !same_name(members_[i - 1], members_[i])) {
        kept.emplace_back(members_[i].node, members_[i].node);
      } else {
        kept.back().second = members_[i].node;
      }
    }
    std::sort(kept.begin(), kept.end());
    auto& nodes = tree_.nodes;
    nodes[object].offset = kept.front().second;
    nodes[object].size = static_cast<std::uint32_t>(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      nodes[kept[i].second].next = i + 1 < kept.size() ? kept[i + 1].second : 0;
    }
  }

  json_tree& tree_;
  char* text_;
  std::size_t size_;
  std::uint32_t depth_max_;
  std::size_t at_ = 0;
  expectation expected_ = expectation::value;
  std::vector<open_container> stack_;
  std::vector<named_member> members_;  // scratch
  std::optional<error> failure_;
};

}  // namespace

result<json> json::parse(std::string_view text, std::uint32_t depth_max) {
  if (text.size() > text_bytes_max) return fail(not_json("the text is too long", text_bytes_max));
  if (text.starts_with("\xef\xbb\xbf")) return fail(not_json("a byte order mark", 0));
  if (!is_utf8(text)) return fail(not_json("invalid UTF-8", first_invalid_character(text)));
  auto tree = std::make_shared<json_tree>();
  tree->text = text;
  if (auto failure = json_reader{*tree, depth_max}.read()) return fail(std::move(*failure));
  return json{std::move(tree), 0};
}

}  // namespace glimmer
