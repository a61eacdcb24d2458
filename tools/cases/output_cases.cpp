#include <fmt/core.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "parsers/number_text.hpp"
#include "parsers/spelled_tokens.hpp"
#include "parsers/turn_parser.hpp"
#include "tokenizer/detokenizer.hpp"
#include "tools/cases/cases.hpp"

namespace glimmer {

namespace {

using piece = spelled_tokens::piece;
using pieces = std::vector<piece>;

/// A whole answer: the fold of a turn's events.
struct answer {
  struct call {
    std::string name;
    std::string arguments;
    friend bool operator==(const call&, const call&) = default;
  };
  std::optional<std::string> reasoning;
  std::optional<std::string> content;
  std::vector<call> calls;
  finish_reason finish = finish_reason::stop;
  friend bool operator==(const answer&, const answer&) = default;
};

answer fold(const std::vector<turn_event>& events, finish_reason finish) {
  answer out{.reasoning = {}, .content = {}, .calls = {}, .finish = finish};
  for (const turn_event& event : events) {
    switch (event.what) {
      case turn_event::kind::reasoning:
        (out.reasoning ? *out.reasoning : out.reasoning.emplace()) += event.text;
        break;
      case turn_event::kind::content:
        (out.content ? *out.content : out.content.emplace()) += event.text;
        break;
      case turn_event::kind::tool_call: out.calls.push_back({event.name, {}}); break;
      case turn_event::kind::tool_arguments:
        out.calls.at(event.call_index).arguments += event.text;
        break;
    }
  }
  return out;
}

// ---------------------------------------------------------------------------------------- reading

std::string_view text_member(const json& c, std::string_view key) {
  const auto value = c.find(key);
  return value && value->is_string() ? value->string() : std::string_view{};
}

std::vector<tool_definition> read_tools(const json& c) {
  std::vector<tool_definition> out;
  const auto tools = c.find("tools");
  if (!tools || !tools->is_array()) return out;
  for (const json& tool : tools->elements()) {
    const json function = tool.find("function").value_or(tool);
    out.push_back({.name = std::string{text_member(function, "name")},
                   .description = {},
                   .parameters = function.find("parameters").value_or(json{})});
  }
  return out;
}

turn_parser::options read_options(const json& c) {
  const auto parallel = c.find("parallel_tool_calls");
  turn_parser::options out;
  out.tools =
      std::make_shared<tool_catalog>(read_tools(c), text_member(c, "tool_choice") != "none");
  out.stops = std::make_shared<stop_strings>(std::vector<std::string>{});
  out.calls.parallel_calls = !(parallel && parallel->is_boolean()) || parallel->boolean();
  const std::string_view start = text_member(c, "start");
  if (start == "reasoning") out.start = turn_start::reasoning;
  if (start == "content") out.start = turn_start::content;
  return out;
}

pieces spelled(std::string_view text) {
  pieces out;
  spelled_tokens reader;
  reader.push(text, out);
  reader.finish(out);
  return out;
}

pieces read_pieces(const json& c) {
  const auto parts = c.find("parts");
  if (!parts || !parts->is_array()) return spelled(text_member(c, "raw"));
  pieces out;
  for (const json& part : parts->elements()) {
    if (part.is_string()) {
      out.push_back({std::string{part.string()}, std::nullopt});
    } else {
      for (piece& p : spelled(text_member(part, "special"))) out.push_back(std::move(p));
    }
  }
  return out;
}

// ---------------------------------------------------------------------------------------- running

/// Reads one turn from pieces whose text is bytes.
class turn {
 public:
  explicit turn(const turn_parser::options& options) : parser_{options} {}

  void take(const piece& p) {
    std::string characters;
    if (!p.special) {
      bytes_.push(p.text, characters);
      return parser_.text(characters, events_);
    }
    bytes_.finish(characters);
    parser_.late_text(characters, events_);
    parser_.special(*p.special, events_);
  }

  answer finish(finish_reason how) {
    std::string characters;
    bytes_.finish(characters);
    parser_.late_text(characters, events_);
    const finish_reason finish = parser_.finish(how, events_);
    return fold(events_, finish);
  }

 private:
  utf8_stream bytes_;
  turn_parser parser_;
  std::vector<turn_event> events_;
};

/// The same input with its text cut: behind byte `at` of all text, or behind every byte.
constexpr std::size_t everywhere = static_cast<std::size_t>(-1);
pieces cut(const pieces& input, std::size_t at) {
  pieces out;
  std::size_t offset = 0;
  for (const piece& p : input) {
    std::size_t begin = 0;
    for (std::size_t i = 1; i < p.text.size(); ++i) {
      if (at != everywhere && offset + i != at) continue;
      out.push_back({p.text.substr(begin, i - begin), std::nullopt});
      begin = i;
    }
    offset += p.text.size();
    out.push_back({p.text.substr(begin), p.special});
  }
  return out;
}

std::size_t text_bytes(const pieces& input) {
  std::size_t total = 0;
  for (const piece& p : input) total += p.text.size();
  return total;
}

answer run_tokens(const turn_parser::options& options, const pieces& input, finish_reason how) {
  turn t{options};
  for (const piece& p : input) t.take(p);
  return t.finish(how);
}

/// Text mode: special tokens are known by their spelling alone.
answer run_text(const turn_parser::options& options, const pieces& input, finish_reason how) {
  turn t{options};
  spelled_tokens reader;
  pieces found;
  for (const piece& p : input) reader.push(p.text, found);
  reader.finish(found);
  for (const piece& p : found) t.take(p);
  return t.finish(how);
}

// -------------------------------------------------------------------------------------- comparing

bool same_number(const json& a, const json& b) {
  const auto x = read_integer(a.number_text());
  const auto y = read_integer(b.number_text());
  if (x || y) return x == y;
  return a.number() == b.number();
}

/// Equal values; members in the same order, numbers by value.
bool same_value(const json& a, const json& b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case json::kind::null: return true;
    case json::kind::boolean: return a.boolean() == b.boolean();
    case json::kind::number: return same_number(a, b);
    case json::kind::string: return a.string() == b.string();
    case json::kind::array:
    case json::kind::object: break;
  }
  const auto left = a.elements();
  const auto right = b.elements();
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].key() != right[i].key() || !same_value(left[i], right[i])) return false;
  }
  return true;
}

case_failure compare_text(std::string_view what, const std::optional<std::string>& actual,
                          const json& expect) {
  const auto expected = expect.find(what);
  const bool wanted = expected && expected->is_string();
  if (wanted != actual.has_value()) {
    return fmt::format("  {}: expected {}, actual {}", what, wanted ? "text" : "null",
                       actual ? *actual : "null");
  }
  if (!wanted) return {};
  const auto differs = difference(expected->string(), *actual);
  return differs ? fmt::format("  {}:\n{}", what, *differs) : case_failure{};
}

case_failure compare_calls(const std::vector<answer::call>& actual, const json& expect) {
  const auto expected = expect.find("tool_calls");
  const std::size_t count = expected && expected->is_array() ? expected->size() : 0;
  if (count != actual.size()) return fmt::format("  {} calls, not {}", actual.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const json call = expected->at(i);
    const auto arguments = json::parse(actual[i].arguments);
    const json wanted = call.find("arguments").value_or(json{});
    if (text_member(call, "name") == actual[i].name && arguments &&
        same_value(wanted, *arguments)) {
      continue;
    }
    std::string spelled_out;
    json_writer{spelled_out}.value(wanted);
    return fmt::format("  call {}\n  expected: {} {}\n  actual:   {} {}", i,
                       text_member(call, "name"), spelled_out, actual[i].name, actual[i].arguments);
  }
  return {};
}

std::string_view name_of(finish_reason reason) {
  switch (reason) {
    case finish_reason::stop: return "stop";
    case finish_reason::length: return "length";
    case finish_reason::tool_calls: return "tool_calls";
    case finish_reason::cancelled: return "cancelled";
    case finish_reason::error: return "error";
  }
  return {};
}

case_failure compare(const answer& actual, const json& expect) {
  if (auto differs = compare_text("reasoning", actual.reasoning, expect)) return differs;
  if (auto differs = compare_text("content", actual.content, expect)) return differs;
  if (auto differs = compare_calls(actual.calls, expect)) return differs;
  const std::string_view finish = text_member(expect, "finish_reason");
  if (finish == name_of(actual.finish)) return {};
  return fmt::format("  finish_reason: expected {}, actual {}", finish, name_of(actual.finish));
}

/// The whole answer first, then that no cut changes it.
using reading = std::function<answer(const pieces&)>;
case_failure check_cuts(const pieces& input, const json& expect, const reading& read) {
  const answer whole = read(input);
  if (auto differs = compare(whole, expect)) return *differs + "\n  (unsplit)";
  const std::size_t bytes = text_bytes(input);
  for (std::size_t at = 1; at <= bytes; ++at) {
    const std::size_t where = at < bytes ? at : everywhere;
    const answer split = read(cut(input, where));
    if (split == whole) continue;
    const auto differs = compare(split, expect);
    return differs.value_or("  the arguments' text differs") +
           (where == everywhere ? "\n  (byte by byte)" : fmt::format("\n  (cut at byte {})", at));
  }
  return {};
}

}  // namespace

case_failure run_output_case(const json& c) {
  const auto expect = c.find("expect");
  if (!expect || !expect->is_object()) return "expect is missing";
  const turn_parser::options options = read_options(c);
  const finish_reason how =
      text_member(c, "finish") == "length" ? finish_reason::length : finish_reason::stop;

  const auto by_tokens = [&](const pieces& input) { return run_tokens(options, input, how); };
  if (auto differs = check_cuts(read_pieces(c), *expect, by_tokens)) return differs;
  if (c.find("parts")) return {};
  const auto by_text = [&](const pieces& input) { return run_text(options, input, how); };
  const pieces raw{{std::string{text_member(c, "raw")}, std::nullopt}};
  auto differs = check_cuts(raw, *expect, by_text);
  if (differs) *differs += "\n  (text mode)";
  return differs;
}

}  // namespace glimmer
