#include "parsers/spelled_tokens.hpp"

#include <utility>

namespace glimmer {

namespace {

struct spelled {
  std::string_view text;
  special_kind kind;
};
constexpr spelled spellings[] = {
    {"<|start|>", special_kind::start},     {"<|message|>", special_kind::message},
    {"<|eom|>", special_kind::eom},         {"<|eot|>", special_kind::eot},
    {"<|end_of_text|>", special_kind::eot},
};

const spelled* at_front(std::string_view text) {
  for (const spelled& s : spellings) {
    if (text.starts_with(s.text)) return &s;
  }
  return nullptr;
}

bool may_become_spelling(std::string_view text) {
  for (const spelled& s : spellings) {
    if (s.text.starts_with(text)) return true;
  }
  return false;
}

void add_text(std::vector<spelled_tokens::piece>& out, std::string_view text) {
  if (!text.empty()) out.push_back({std::string{text}, std::nullopt});
}

}  // namespace

void spelled_tokens::push(std::string_view bytes, std::vector<piece>& out) {
  const std::string text = std::exchange(held_, {}).append(bytes);
  std::string_view rest = text;
  std::size_t at = 0;
  while ((at = rest.find('<', at)) != rest.npos) {
    const std::string_view tail = rest.substr(at);
    if (const spelled* found = at_front(tail)) {
      add_text(out, rest.substr(0, at));
      out.push_back({{}, found->kind});
      rest = tail.substr(found->text.size());
      at = 0;
    } else if (may_become_spelling(tail)) {
      held_ = tail;
      rest = rest.substr(0, at);
      break;
    } else {
      ++at;
    }
  }
  add_text(out, rest);
}

void spelled_tokens::finish(std::vector<piece>& out) {
  add_text(out, std::exchange(held_, {}));
}

}  // namespace glimmer
