#include "tokenizer/detokenizer.hpp"

#include <algorithm>
#include <utility>

#include "tokenizer/utf8.hpp"

namespace glimmer {

namespace {
constexpr std::string_view replacement = "\ufffd";

/// How many bytes from the first on are whole characters.
std::size_t whole_characters(std::string_view bytes) {
  std::size_t i = 0;
  while (i < bytes.size()) {
    if (static_cast<signed char>(bytes[i]) >= 0) {
      ++i;
      continue;
    }
    const utf8_char c = first_utf8_char(bytes.substr(i));
    if (c.what != utf8_char::state::whole) break;
    i += c.length;
  }
  return i;
}

}  // namespace

void utf8_stream::push(std::string_view bytes, std::string& out) {
  while (held_ > 0 && !bytes.empty()) {
    tail_[held_++] = bytes.front();
    const utf8_char c = first_utf8_char({tail_, held_});
    if (c.what == utf8_char::state::whole) out.append(tail_, c.length);
    if (c.what == utf8_char::state::broken) out += replacement;
    // A byte that breaks the character is not part of it: it is looked at again below.
    if (c.what == utf8_char::state::cut || c.length == held_) bytes.remove_prefix(1);
    if (c.what != utf8_char::state::cut) held_ = 0;
  }
  for (;;) {
    const std::size_t whole = whole_characters(bytes);
    out += bytes.substr(0, whole);
    bytes.remove_prefix(whole);
    if (bytes.empty()) return;
    const utf8_char c = first_utf8_char(bytes);
    if (c.what == utf8_char::state::cut) {
      std::ranges::copy(bytes, tail_);
      held_ = c.length;
      return;
    }
    out += replacement;
    bytes.remove_prefix(c.length);
  }
}

void utf8_stream::finish(std::string& out) {
  if (held_ > 0) out += replacement;
  held_ = 0;
}

detokenizer::detokenizer(std::shared_ptr<const tokenizer> source) : source_{std::move(source)} {}

void detokenizer::push(token_id token, std::string& out) {
  stream_.push(source_->words().bytes(token), out);
}

std::string_view detokenizer::token_bytes(token_id token) const {
  const vocabulary& words = source_->words();
  return words.is_special(token) ? words.special_spelling(token) : words.bytes(token);
}

}  // namespace glimmer
