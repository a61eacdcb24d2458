#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "base/json.hpp"
#include "base/json_tree.hpp"

namespace glimmer {

json::json() = default;

json::json(std::shared_ptr<const detail::json_tree> tree, std::uint32_t node)
    : tree_{std::move(tree)}, node_{node} {}

json::kind json::type() const {
  return tree_ ? static_cast<kind>(tree_->nodes[node_].kind) : kind::null;
}

bool json::boolean() const {
  GLIMMER_ASSERT(is_boolean(), "the caller looked at the kind first");
  return tree_->nodes[node_].size != 0;
}

std::string_view json::string() const {
  GLIMMER_ASSERT(is_string(), "the caller looked at the kind first");
  const auto& node = tree_->nodes[node_];
  return std::string_view{tree_->text}.substr(node.offset, node.size);
}

std::string_view json::number_text() const {
  GLIMMER_ASSERT(is_number(), "the caller looked at the kind first");
  const auto& node = tree_->nodes[node_];
  return std::string_view{tree_->text}.substr(node.offset, node.size);
}

namespace {

/// Whether a number out of the range of double is too large (else too small). `text` has a
/// non-zero digit. Only the sign of the decimal exponent of its first one is of interest.
bool is_too_large(std::string_view text) {
  const auto e = text.find_first_of("eE");
  if (e != std::string_view::npos && e + 1 < text.size()) {
    // An exponent that cannot be read is far beyond any mantissa that fits a text.
    std::int64_t exponent = 0;
    const auto* begin = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
    const auto read = std::from_chars(begin, text.data() + text.size(), exponent);
    if (read.ec != std::errc{}) return text[e + 1] != '-';
    const auto mantissa = text.substr(0, e);
    const auto first = static_cast<std::int64_t>(mantissa.find_first_of("123456789"));
    const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
    return exponent > first - point;
  }
  const auto first = text.find_first_of("123456789");
  return first < std::min(text.find('.'), text.size());
}

}  // namespace

double json::number() const {
  const auto text = number_text();
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc::result_out_of_range) return value;
  const auto size = is_too_large(text) ? std::numeric_limits<double>::infinity() : 0.0;
  return text.starts_with('-') ? -size : size;
}

std::optional<std::int64_t> json::integer() const {
  if (!is_number()) return std::nullopt;
  const auto text = number_text();
  std::int64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

std::size_t json::size() const {
  GLIMMER_ASSERT(is_array() || is_object(), "the caller looked at the kind first");
  return tree_->nodes[node_].size;
}

std::optional<json> json::first() const {
  GLIMMER_ASSERT(is_array() || is_object(), "the caller looked at the kind first");
  const auto& node = tree_->nodes[node_];
  if (node.size == 0) return std::nullopt;
  return json{tree_, node.offset};
}

std::optional<json> json::next() const {
  if (!tree_ || tree_->nodes[node_].next == 0) return std::nullopt;
  return json{tree_, tree_->nodes[node_].next};
}

std::string_view json::key() const {
  if (!tree_ || tree_->nodes[node_].member == 0) return {};
  const auto& name = tree_->nodes[node_ - 1];
  return std::string_view{tree_->text}.substr(name.offset, name.size);
}

std::optional<json> json::find(std::string_view key) const {
  if (!is_object()) return std::nullopt;
  const auto& nodes = tree_->nodes;
  for (auto m = nodes[node_].offset; m != 0; m = nodes[m].next) {
    const auto& name = nodes[m - 1];
    if (std::string_view{tree_->text}.substr(name.offset, name.size) == key) return json{tree_, m};
  }
  return std::nullopt;
}

json json::at(std::size_t index) const {
  GLIMMER_ASSERT(is_array() && index < size(), "the caller looked at the size first");
  auto node = tree_->nodes[node_].offset;
  while (index-- > 0) node = tree_->nodes[node].next;
  return json{tree_, node};
}

std::vector<json> json::elements() const {
  std::vector<json> all;
  all.reserve(size());
  const auto& nodes = tree_->nodes;
  for (auto n = nodes[node_].offset; n != 0; n = nodes[n].next) all.push_back(json{tree_, n});
  return all;
}

std::string_view to_string(json::kind kind) {
  switch (kind) {
    case json::kind::null: return "null";
    case json::kind::boolean: return "boolean";
    case json::kind::number: return "number";
    case json::kind::string: return "string";
    case json::kind::array: return "array";
    case json::kind::object: return "object";
  }
  return "null";
}

}  // namespace glimmer
