#include "parsers/header.hpp"

#include <algorithm>

namespace glimmer {

namespace {

using kind = header_match::kind;

enum class word_match { none, partial, whole };

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view skip_blanks(std::string_view text) {
  const auto first = std::find_if_not(text.begin(), text.end(), is_blank);
  return text.substr(static_cast<std::size_t>(first - text.begin()));
}

/// Takes `literal.text` off the front of `rest`; partial if `rest` ends within it.
struct literal {
  std::string_view text;
  bool any_case = true;
};
word_match take(std::string_view& rest, literal what) {
  const std::size_t shared = std::min(rest.size(), what.text.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if ((what.any_case ? lower(rest[i]) : rest[i]) != what.text[i]) return word_match::none;
  }
  if (shared < what.text.size()) return word_match::partial;
  rest.remove_prefix(shared);
  return word_match::whole;
}

/// Takes a name (no blanks, no '<') and the blanks behind it; false if there is more or no name.
bool take_last_name(std::string_view rest, std::string_view& name) {
  const auto end =
      std::find_if(rest.begin(), rest.end(), [](char c) { return is_blank(c) || c == '<'; });
  name = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  return !name.empty() && skip_blanks(rest.substr(name.size())).empty();
}

/// `text` as the header of another role.
kind match_foreign(std::string_view text) {
  bool prefix = false;
  for (std::string_view role : {"user", "system", "developer"}) {
    std::string_view rest = text;
    const word_match word = take(rest, {role});
    if (word == word_match::whole && skip_blanks(rest).empty()) return kind::foreign;
    prefix |= word == word_match::partial;
  }
  std::string_view rest = text;
  const word_match word = take(rest, {"tool"});
  if (word != word_match::whole) {
    return prefix || word == word_match::partial ? kind::prefix : kind::none;
  }
  const std::string_view name = skip_blanks(rest);
  if (name.empty()) return kind::foreign;
  std::string_view ignored;
  return name.size() < rest.size() && take_last_name(name, ignored) ? kind::foreign : kind::none;
}

/// `text` as a header of the assistant.
header_match match_own(std::string_view text) {
  const word_match role = take(text, {"assistant"});
  if (role == word_match::partial) return {kind::prefix, {}};
  text = skip_blanks(text);
  if (text.empty()) return {kind::complete, {}};
  const word_match to = take(text, {"to=", /*any_case=*/false});
  if (to == word_match::none) return {kind::none, {}};
  if (to == word_match::partial) return {kind::prefix, {}};
  text = skip_blanks(text);
  if (text.empty()) return {kind::prefix, {}};
  std::string_view recipient;
  if (!take_last_name(text, recipient)) return {kind::none, {}};
  return {kind::complete, recipient};
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  text = skip_blanks(text);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

header_match match_header(std::string_view text, header_place place) {
  if (text.size() > header_bytes_max) return {kind::none, {}};
  text = skip_blanks(text);
  if (text.empty()) return {kind::complete, {}};
  const header_match own = match_own(text);
  if (place == header_place::bare || own.what == kind::complete) return own;
  const kind foreign = match_foreign(text);
  return foreign == kind::none ? own : header_match{foreign, {}};
}

}  // namespace glimmer
