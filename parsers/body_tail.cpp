#include "parsers/body_tail.hpp"

#include <utility>

#include "parsers/header.hpp"

namespace glimmer {

namespace {

constexpr std::string_view header_word = "to=";
constexpr std::string_view calls_opener = "<atem:function_calls>";
constexpr std::string_view invoke_opener = "<atem:invoke";

/// Inside a bare header blanks are spaces and tabs only.
bool is_space(char c) {
  return c == ' ' || c == '\t';
}
bool ends_header(char c) {
  return c == '\r' || c == '\n' || c == '<';
}

}  // namespace

std::size_t body_tail::take(std::string_view text, std::string& shown) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (state_ != state::free) {
      if (extend(c)) {
        held_ += c;
        if (opener()) return i + 1;
        continue;
      }
      shown += release();
    }
    if (begin(c)) {
      held_ += c;
    } else {
      shown += c;
      anchored_ = is_blank(c);
    }
  }
  return text.size();
}

bool body_tail::begin(char c) {
  if (watch_.headers && anchored_ && c == header_word[0]) {
    state_ = state::word;
  } else if (watch_.openers && c == '<') {
    state_ = state::opener;
  }
  return state_ != state::free;
}

/// Whether `c` continues what is held.
bool body_tail::extend(char c) {
  if (state_ == state::opener) return extend_opener(c);
  if (held_.size() == header_bytes_max) return false;
  switch (state_) {
    case state::word:
      if (c != header_word[held_.size()]) return false;
      if (held_.size() + 1 == header_word.size()) state_ = state::before_name;
      return true;
    case state::before_name:
      if (is_space(c)) return true;
      if (ends_header(c)) return false;
      name_begin_ = held_.size();
      name_end_ = name_begin_ + 1;
      state_ = state::name;
      return true;
    case state::name:
      if (ends_header(c)) return false;
      if (is_space(c)) {
        state_ = state::behind_name;
      } else {
        name_end_ = held_.size() + 1;
      }
      return true;
    case state::behind_name: return is_space(c);
    default: return false;
  }
}

bool body_tail::extend_opener(char c) {
  for (std::string_view opener : {calls_opener, invoke_opener}) {
    if (held_.size() >= opener.size() || c != opener[held_.size()]) continue;
    if (!opener.starts_with(held_)) continue;
    if (held_.size() + 1 == opener.size()) state_ = state::opener_found;
    return true;
  }
  return false;
}

std::optional<std::string_view> body_tail::recipient() const {
  if (state_ != state::name && state_ != state::behind_name) return std::nullopt;
  return std::string_view{held_}.substr(name_begin_, name_end_ - name_begin_);
}

std::string body_tail::release() {
  if (!held_.empty()) anchored_ = is_blank(held_.back());
  state_ = state::free;
  return std::exchange(held_, {});
}

}  // namespace glimmer
