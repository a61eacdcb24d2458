#include "tokenizer/prompt_pieces.hpp"

namespace glimmer {

namespace {

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Calls `found(from, to)` for everything in `text` that is spelled like a special token.
template <class Found>
void find_lookalikes(std::string_view text, Found found) {
  for (std::size_t from = text.find("<|"); from != text.npos; from = text.find("<|", from + 1)) {
    std::size_t to = from + 2;
    while (to < text.size() && is_name_letter(text[to])) ++to;
    if (to > from + 2 && text.substr(to).starts_with("|>")) found(from, to + 2);
  }
}

}  // namespace

void prompt_pieces::add(std::string_view text) {
  if (text.empty()) return;
  if (pieces_.empty() || !std::holds_alternative<std::string>(pieces_.back())) {
    pieces_.emplace_back(std::string{});
  }
  std::get<std::string>(pieces_.back()) += text;
}

prompt_text to_text(const prompt_pieces& prompt) {
  prompt_text out;
  for (const auto& piece : prompt.pieces()) {
    if (const auto* control = std::get_if<control_token>(&piece)) {
      out.text += spelling(*control);
    } else if (const auto* medium = std::get_if<media_placeholder>(&piece)) {
      out.text += spelling(medium->placeholder);
    } else {
      const std::size_t base = out.text.size();
      const std::string& text = std::get<std::string>(piece);
      find_lookalikes(text, [&](std::size_t from, std::size_t to) {
        out.literal_spans.emplace_back(base + from, base + to);
      });
      out.text += text;
    }
  }
  return out;
}

result<std::vector<token_id>> to_tokens(const prompt_pieces& prompt, const tokenizer& tokens) {
  std::vector<token_id> out;
  for (const auto& piece : prompt.pieces()) {
    if (const auto* control = std::get_if<control_token>(&piece)) {
      out.push_back(tokens.id(*control));
    } else if (const auto* medium = std::get_if<media_placeholder>(&piece)) {
      out.push_back(tokens.id(medium->placeholder));
    } else if (auto done = tokens.append(std::get<std::string>(piece), out); !done) {
      return fail(std::move(done.error()));
    }
  }
  return out;
}

}  // namespace glimmer
