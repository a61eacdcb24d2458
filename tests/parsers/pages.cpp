#include "tests/parsers/pages.hpp"

#include <fmt/core.h>

#include <boost/test/unit_test.hpp>
#include <memory>

#include "base/json.hpp"

namespace glimmer::test {

namespace {

bool inside_character(char c) {
  return (c & 0xC0) == 0x80;
}

/// Takes one line off the front of `rest`.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

std::string take_block(std::string_view& rest) {
  std::string out;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line == "```") break;
    (out += line) += '\n';
  }
  if (!out.empty()) out.pop_back();
  return out;
}

void set_option(page_case& section, std::string_view line) {
  const std::size_t colon = line.find(": ");
  BOOST_REQUIRE_MESSAGE(colon != line.npos, "an option without a value: " << line);
  const std::string_view key = line.substr(0, colon);
  const std::string value{line.substr(colon + 2)};
  turn_parser::options& options = section.options;
  if (key == "finish") {
    section.finish = value == "length" ? finish_reason::length : finish_reason::stop;
  } else if (key == "start") {
    options.start = value == "reasoning" ? turn_start::reasoning : turn_start::content;
  } else if (key == "parallel") {
    options.calls.parallel_calls = value == "true";
  } else if (key == "stop") {
    options.stops = std::make_shared<stop_strings>(std::vector<std::string>{value});
  } else if (key == "keep_stop") {
    options.keep_stop = stop_matcher::keep_match::yes;
  } else {
    BOOST_REQUIRE_MESSAGE(key == "tool_choice", "an unknown option: " << line);
  }
}

}  // namespace

turn_parser::options plain_options() {
  turn_parser::options out;
  out.tools = std::make_shared<tool_catalog>(std::vector<tool_definition>{}, true);
  out.stops = std::make_shared<stop_strings>(std::vector<std::string>{});
  return out;
}

std::shared_ptr<const tool_catalog> tools_of(std::string_view json_text, bool allowed) {
  const auto parsed = json::parse(json_text);
  BOOST_REQUIRE_MESSAGE(parsed && parsed->is_array(), "tools are no JSON array: " << json_text);
  std::vector<tool_definition> tools;
  for (const json& tool : parsed->elements()) {
    tools.push_back({.name = std::string{tool.find("name")->string()},
                     .description = {},
                     .parameters = tool.find("parameters").value_or(json{})});
  }
  return std::make_shared<tool_catalog>(tools, allowed);
}

std::vector<page_case> read_page(std::string_view text) {
  std::vector<page_case> out;
  std::string tools = "[]";
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.starts_with("## ")) {
      out.push_back({.heading = std::string{line.substr(3)},
                     .options = plain_options(),
                     .turn = {},
                     .events = {}});
      out.back().options.tools = tools_of(tools);
    } else if (line == "```tools") {
      tools = take_block(text);
    } else if (line == "```turn") {
      out.back().turn = take_block(text);
    } else if (line == "```events") {
      out.back().events = take_block(text);
    } else if (line == "`tool_choice: none`") {
      out.back().options.tools = tools_of(tools, false);
    } else if (line.starts_with('`')) {
      set_option(out.back(), line.substr(1, line.size() - 2));
    }
  }
  return out;
}

pieces pieces_of(std::string_view turn) {
  pieces out;
  while (true) {
    const std::size_t escape = turn.find("\\<");
    spelled_tokens reader;
    reader.push(turn.substr(0, escape), out);
    reader.finish(out);
    if (escape == turn.npos) return out;
    out.push_back({"<", std::nullopt});
    turn.remove_prefix(escape + 2);
  }
}

std::string to_lines(const std::vector<turn_event>& events, finish_reason finish) {
  std::string out;
  const turn_event* before = nullptr;
  for (const turn_event& event : events) {
    const bool more =
        before != nullptr && before->what == event.what && before->call_index == event.call_index;
    switch (event.what) {
      case turn_event::kind::reasoning:
      case turn_event::kind::content: {
        if (more) {
          out.pop_back(), out.pop_back();
        } else {
          out += event.what == turn_event::kind::content ? "content \"" : "reasoning \"";
        }
        std::string quoted;
        append_json_string(quoted, event.text);
        (out += quoted.substr(1)) += '\n';
        break;
      }
      case turn_event::kind::tool_call: out += fmt::format("call {} ", event.name); break;
      case turn_event::kind::tool_arguments: (out += event.text) += '\n'; break;
    }
    before = &event;
  }
  constexpr const char* names[] = {"stop", "length", "tool_calls", "cancelled", "error"};
  return out += fmt::format("finish {}", names[static_cast<int>(finish)]);
}

std::string events_of(const turn_parser::options& options, const pieces& input,
                      finish_reason finish) {
  turn_parser parser{options};
  std::vector<turn_event> events;
  for (const auto& piece : input) {
    if (piece.special) {
      parser.special(*piece.special, events);
    } else {
      parser.text(piece.text, events);
    }
  }
  const finish_reason reason = parser.finish(finish, events);
  return to_lines(events, reason);
}

pieces single_characters(const pieces& input) {
  pieces out;
  for (const auto& piece : input) {
    if (piece.special) out.push_back(piece);
    for (char c : piece.text) {
      if (!inside_character(c)) out.push_back({});
      out.back().text += c;
    }
  }
  return out;
}

pieces cut_once(const pieces& input, std::size_t at) {
  pieces out;
  std::size_t offset = 0;
  for (const auto& piece : input) {
    const std::size_t size = piece.text.size();
    const bool here = at > offset && at < offset + size;
    if (here && !inside_character(piece.text[at - offset])) {
      out.push_back({piece.text.substr(0, at - offset), std::nullopt});
      out.push_back({piece.text.substr(at - offset), std::nullopt});
    } else {
      out.push_back(piece);
    }
    offset += size;
  }
  return out;
}

std::size_t text_bytes(const pieces& input) {
  std::size_t total = 0;
  for (const auto& piece : input) total += piece.text.size();
  return total;
}

}  // namespace glimmer::test
