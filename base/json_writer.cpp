#include <array>
#include <charconv>
#include <cmath>

#include "base/assert.hpp"
#include "base/json.hpp"
#include "base/json_scan.hpp"

namespace glimmer {

namespace {

template <class Number>
void append_number(std::string& out, Number value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

}  // namespace

void json_writer::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (first_.empty()) return;
  if (!first_.back()) out_ += ',';
  first_.back() = false;
}

json_writer& json_writer::begin_object() {
  separate();
  first_.push_back(true);
  out_ += '{';
  return *this;
}

json_writer& json_writer::end_object() {
  GLIMMER_ASSERT(!first_.empty() && !after_key_, "an object is open and no value is missing");
  first_.pop_back();
  out_ += '}';
  return *this;
}

json_writer& json_writer::begin_array() {
  separate();
  first_.push_back(true);
  out_ += '[';
  return *this;
}

json_writer& json_writer::end_array() {
  GLIMMER_ASSERT(!first_.empty() && !after_key_, "an array is open");
  first_.pop_back();
  out_ += ']';
  return *this;
}

json_writer& json_writer::key(std::string_view name) {
  GLIMMER_ASSERT(!first_.empty() && !after_key_, "names stand in objects, each with a value");
  separate();
  append_json_string(out_, name);
  out_ += ':';
  after_key_ = true;
  return *this;
}

json_writer& json_writer::string(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

json_writer& json_writer::boolean(bool value) {
  return raw(value ? "true" : "false");
}

json_writer& json_writer::null() {
  return raw("null");
}

json_writer& json_writer::integer(std::int64_t value) {
  separate();
  append_number(out_, value);
  return *this;
}

json_writer& json_writer::unsigned_integer(std::uint64_t value) {
  separate();
  append_number(out_, value);
  return *this;
}

json_writer& json_writer::number(double value) {
  if (!std::isfinite(value)) return null();
  separate();
  append_number(out_, value);
  return *this;
}

json_writer& json_writer::raw(std::string_view json_text) {
  separate();
  out_ += json_text;
  return *this;
}

// Recursion is as deep as the limit the text was parsed with.
json_writer& json_writer::value(const json& v) {
  switch (v.type()) {
    case json::kind::null: return null();
    case json::kind::boolean: return boolean(v.boolean());
    case json::kind::number: return raw(v.number_text());
    case json::kind::string: return string(v.string());
    case json::kind::array:
      begin_array();
      for (auto element = v.first(); element; element = element->next()) value(*element);
      return end_array();
    case json::kind::object:
      begin_object();
      for (auto member = v.first(); member; member = member->next()) {
        key(member->key()).value(*member);
      }
      return end_object();
  }
  return *this;
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += '"';
  while (true) {
    const auto run = json_plain_run(text);
    out += text.substr(0, run);
    if (run == text.size()) break;
    const char c = text[run];
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        out += "\\u00";
        out += digits[static_cast<unsigned char>(c) >> 4];
        out += digits[static_cast<unsigned char>(c) & 15];
    }
    text.remove_prefix(run + 1);
  }
  out += '"';
}

}  // namespace glimmer
