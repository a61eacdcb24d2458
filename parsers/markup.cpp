#include "parsers/markup.hpp"

#include <algorithm>

#include "parsers/header.hpp"

namespace glimmer {

namespace {

constexpr std::string_view prefix = "atem:";
constexpr std::string_view message_spelling = "<|message|>";

struct element {
  std::string_view word;
  tag_kind open;
  tag_kind close;
};
constexpr element elements[] = {
    {"function_calls", tag_kind::calls_open, tag_kind::calls_close},
    {"invoke", tag_kind::invoke_open, tag_kind::invoke_close},
    {"parameter", tag_kind::parameter_open, tag_kind::parameter_close},
};

bool ends_key(char c) {
  return is_blank(c) || c == '=' || c == '>' || c == '<';
}

}  // namespace

/// The beginning of a tag, up to its attributes, or all of a tag that has none.
struct markup::tag_word {
  tag_kind kind;
  bool prefixed;
  std::size_t end;
};

struct markup::attribute {
  std::string_view key;
  std::string value;
  std::size_t end = 0;    // how far it is read
  bool cut = false;       // the rest of the value does not count
  bool ends_tag = false;  // a control token stands for the end of the tag
};

const tool_body::marker* markup::marker_at(std::size_t at) const {
  if (body_.markers.empty()) return nullptr;
  const auto found = std::lower_bound(
      body_.markers.begin(), body_.markers.end(), at,
      [](const tool_body::marker& m, std::size_t offset) { return m.offset < offset; });
  return found != body_.markers.end() && found->offset == at ? &*found : nullptr;
}

bool markup::message_at(std::size_t at) const {
  const auto* marker = marker_at(at);
  return marker != nullptr && marker->kind == special_kind::message;
}

std::size_t markup::next_angle(std::size_t from) const {
  while (true) {
    const std::size_t at = text_.find('<', from);
    if (at == text_.npos) return size();
    if (!message_at(at)) return at;
    from = at + message_spelling.size();
  }
}

std::size_t markup::skip_blanks(std::size_t from) const {
  while (from < size()) {
    if (is_blank(text_[from])) {
      ++from;
    } else if (text_[from] == '<' && message_at(from)) {
      from += message_spelling.size();
    } else {
      break;
    }
  }
  return std::min(from, size());
}

std::optional<markup::tag_word> markup::word_at(std::size_t at) const {
  std::string_view rest = text_.substr(at + 1);
  const bool closer = rest.starts_with('/');
  rest.remove_prefix(closer);
  const bool prefixed = rest.starts_with(prefix);
  if (prefixed) rest.remove_prefix(prefix.size());
  for (const element& e : elements) {
    if (!rest.starts_with(e.word) || rest.size() == e.word.size()) continue;
    const char next = rest[e.word.size()];
    const std::size_t end = size() - rest.size() + e.word.size();
    if (closer || e.open == tag_kind::calls_open) {
      if (next != '>') return std::nullopt;
      return tag_word{closer ? e.close : e.open, prefixed, end + 1};
    }
    if (!is_blank(next) && next != '>' && !message_at(end)) return std::nullopt;
    return tag_word{e.open, prefixed, end};
  }
  return std::nullopt;
}

std::optional<markup_tag> markup::closer_at(std::size_t at) const {
  if (!text_.substr(at + 1).starts_with('/')) return std::nullopt;
  return tag_at(at);
}

std::optional<markup_tag> markup::tag_at(std::size_t at) const {
  const std::optional<tag_word> word = word_at(at);
  if (!word) return std::nullopt;
  markup_tag tag{.kind = word->kind, .prefixed = word->prefixed, .end = word->end, .name = {}};
  const bool has_attributes =
      tag.kind == tag_kind::invoke_open || tag.kind == tag_kind::parameter_open;
  if (has_attributes && !read_attributes(word->end, tag)) return std::nullopt;
  return tag;
}

bool markup::read_attributes(std::size_t at, markup_tag& tag) const {
  while (at < size()) {
    if (is_blank(text_[at])) {
      ++at;
      continue;
    }
    if (text_[at] == '>') {
      tag.end = at + 1;
      return true;
    }
    attribute next;
    next.end = at;
    const bool read = text_[at] == '<' ? read_marker(next, tag) : read_attribute(next, tag);
    if (!read) return false;
    if (next.key == "name" && tag.name.empty()) tag.name = trim_blanks(next.value);
    at = next.end;
    if (next.ends_tag) {
      tag.end = at;
      return true;
    }
  }
  return false;
}

/// `key`, `key=value`, or a stray character.
bool markup::read_attribute(attribute& out, markup_tag& tag) const {
  const std::size_t begin = out.end;
  std::size_t at = begin;
  while (at < size() && !ends_key(text_[at])) ++at;
  out.key = text_.substr(begin, at - begin);
  out.end = std::max(at, begin + 1);
  while (at < size() && is_blank(text_[at])) ++at;
  if (out.key.empty() || at == size() || text_[at] != '=') return true;
  ++at;
  while (at < size() && is_blank(text_[at])) ++at;
  out.end = at;
  return read_value(out, tag);
}

bool markup::read_value(attribute& out, markup_tag& tag) const {
  if (out.end == size()) return false;
  const char quote = text_[out.end];
  const bool quoted = quote == '"' || quote == '\'';
  out.end += quoted;
  while (out.end < size()) {
    const char c = text_[out.end];
    if (quoted ? c == quote : is_blank(c) || c == '>') {
      out.end += quoted;
      return true;
    }
    if (c == '<') {
      if (!read_marker(out, tag)) return false;
      if (out.ends_tag) return true;
      continue;
    }
    if (!out.cut) out.value += c;
    ++out.end;
  }
  return false;
}

/// A '<' inside a tag. A real `<|message|>` is left out; in an invoke it stands for the end of the
/// tag if a parameter or the closer follows. Behind a control token one '<' of the text is
/// forgiven: it cuts the name.
bool markup::read_marker(attribute& out, markup_tag& tag) const {
  const bool message = message_at(out.end);
  tag.corrupted = tag.corrupted || marker_at(out.end) != nullptr;
  if (message) out.end += message_spelling.size();
  if (tag.kind != tag_kind::invoke_open) return message;
  if (tag.corrupted && tag_ends_before(out.end)) {
    out.ends_tag = true;
    return true;
  }
  if (message) return true;
  if (!tag.corrupted || out.cut) return false;
  out.cut = true;
  ++out.end;
  return true;
}

bool markup::tag_ends_before(std::size_t at) const {
  while (at < size() && is_blank(text_[at])) ++at;
  if (at >= size() || text_[at] != '<') return false;
  const std::optional<tag_word> word = word_at(at);
  if (!word) return false;
  if (word->kind == tag_kind::invoke_close) return true;
  return word->kind == tag_kind::parameter_open && tag_at(at).has_value();
}

bool markup::ends_in_calls_closer(std::size_t at) const {
  const std::string_view rest = text_.substr(at);
  constexpr std::string_view closers[] = {"</atem:function_calls>", "</function_calls>"};
  return std::any_of(std::begin(closers), std::end(closers),
                     [rest](std::string_view closer) { return closer.starts_with(rest); });
}

}  // namespace glimmer
