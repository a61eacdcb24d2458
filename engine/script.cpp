#include "engine/script.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "base/json.hpp"

namespace glimmer {
namespace {

constexpr std::uint32_t tokens_per_step_limit = 65'536;
constexpr double delay_ms_limit = 60'000;

std::unexpected<error> refuse(std::string text) {
  return fail(bad_value("script", std::move(text)));
}

/// Spelled special tokens become their ids: a script is the operator's own.
result<void> append_raw(std::string_view text, const tokenizer& tokens,
                        std::vector<token_id>& out) {
  while (!text.empty()) {
    auto begin = text.find("<|");
    std::optional<token_id> special;
    std::size_t length = 0;
    for (; begin != text.npos; begin = text.find("<|", begin + 1)) {
      const auto end = text.find("|>", begin);
      if (end == text.npos) {
        begin = text.npos;
        break;
      }
      length = end + 2 - begin;
      special = tokens.words().find_special(text.substr(begin, length));
      if (special) break;
    }
    if (auto done = tokens.append(text.substr(0, begin), out); !done) return done;
    if (!special) return {};
    out.push_back(*special);
    text.remove_prefix(begin + length);
  }
  return {};
}

result<void> append_parts(const json& parts, const tokenizer& tokens, std::vector<token_id>& out) {
  for (const auto& part : parts.elements()) {
    if (part.is_string()) {
      if (auto done = tokens.append(part.string(), out); !done) return done;
      continue;
    }
    const auto spelled = part.find("special");
    const auto id = spelled && spelled->is_string() ? tokens.words().find_special(spelled->string())
                                                    : std::nullopt;
    if (!id) return refuse("a part is neither text nor the spelling of a special token");
    out.push_back(*id);
  }
  return {};
}

result<void> append_ids(const json& list, const tokenizer& tokens, std::vector<token_id>& out) {
  for (const auto& entry : list.elements()) {
    const auto id = entry.is_number() ? entry.integer() : std::nullopt;
    if (!id || *id < 0 || *id >= static_cast<std::int64_t>(tokens.words().size())) {
      return refuse(fmt::format("\"tokens\" are ids from 0 to {}", tokens.words().size() - 1));
    }
    out.push_back(static_cast<token_id>(*id));
  }
  return {};
}

result<void> read_tokens(const json& line, const tokenizer& tokens, std::vector<token_id>& out) {
  if (const auto text = line.find("text"); text && text->is_string()) {
    return append_raw(text->string(), tokens, out);
  }
  if (const auto parts = line.find("parts"); parts && parts->is_array()) {
    return append_parts(*parts, tokens, out);
  }
  if (const auto ids = line.find("tokens"); ids && ids->is_array()) {
    return append_ids(*ids, tokens, out);
  }
  return refuse("it has neither \"text\" nor \"parts\" nor \"tokens\"");
}

result<scripted_turn> read_turn(std::string_view text, const tokenizer& tokens) {
  const auto line = json::parse(text);
  if (!line) return fail(line.error());
  const auto match = line->find("match");
  if (!match || !match->is_string()) return refuse("it has no \"match\", which is a string");
  scripted_turn turn{.match = std::string{match->string()}, .tokens = {}};
  if (auto done = read_tokens(*line, tokens, turn.tokens); !done) return fail(done.error());
  if (const auto k = line->find("k")) {
    const auto wanted = k->is_number() ? k->integer().value_or(0) : 0;
    if (wanted < 1) return refuse("\"k\" is a whole number of at least 1");
    turn.tokens_per_step =
        static_cast<std::uint32_t>(std::min<std::int64_t>(wanted, tokens_per_step_limit));
  }
  if (const auto delay = line->find("delay_ms")) {
    const double ms = delay->is_number() ? delay->number() : -1;
    if (!(ms >= 0 && ms <= delay_ms_limit)) return refuse("\"delay_ms\" is from 0 to 60000");
    turn.delay = duration{static_cast<std::int64_t>(ms * 1e6)};
  }
  if (const auto at = line->find("fails_at")) {
    const auto token = at->is_number() ? at->integer().value_or(-1) : -1;
    if (token < 0) return refuse("\"fails_at\" is a whole number of at least 0");
    turn.fails_at = static_cast<std::size_t>(token);
  }
  return turn;
}

}  // namespace

std::uint32_t script::tokens_per_step_max() const {
  std::uint32_t most = 1;
  for (const auto& turn : turns) most = std::max(most, turn.tokens_per_step);
  return most;
}

const scripted_turn* script::find(std::string_view last_user_message) const {
  const auto answers = [&](const scripted_turn& turn) {
    return turn.match == "*" || last_user_message.contains(turn.match);
  };
  const auto at = std::ranges::find_if(turns, answers);
  return at == turns.end() ? nullptr : &*at;
}

result<script> parse_script(std::string_view text, const tokenizer& tokens) {
  script out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    auto turn = read_turn(line, tokens);
    if (!turn) return refuse(fmt::format("script line {}: {}", number, turn.error().text));
    out.turns.push_back(std::move(*turn));
  }
  if (out.turns.empty()) return refuse("the script has no line");
  return out;
}

result<script> load_script(const std::string& path, const tokenizer& tokens) {
  std::ifstream file{path, std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  if (!file) return refuse(fmt::format("the script \"{}\" cannot be read", path));
  return parse_script(text, tokens);
}

std::string last_user_message(std::span<const token_id> prompt, const tokenizer& tokens) {
  const auto start = tokens.id(control_token::start);
  const auto message = tokens.id(control_token::message);
  const auto& words = tokens.words();
  for (auto at = prompt.size(); at-- > 0;) {
    if (prompt[at] != start) continue;
    const auto body = std::ranges::find(prompt.subspan(at), message);
    if (body == prompt.end()) continue;
    const auto header =
        prompt.subspan(at + 1, static_cast<std::size_t>(body - prompt.begin()) - at - 1);
    if (tokens.decode(header) != "user") continue;
    const auto end =
        std::find_if(body + 1, prompt.end(), [&](token_id id) { return words.is_special(id); });
    return tokens.decode({body + 1, end});
  }
  return tokens.decode(prompt);
}

}  // namespace glimmer
