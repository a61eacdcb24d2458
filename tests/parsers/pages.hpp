#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/spelled_tokens.hpp"
#include "parsers/turn_parser.hpp"

namespace glimmer::test {

using pieces = std::vector<spelled_tokens::piece>;

/// One section of a page: a turn above, the events it becomes below.
struct page_case {
  std::string heading;
  turn_parser::options options;
  finish_reason finish = finish_reason::stop;
  std::string turn;    ///< spellings are special tokens, behind a backslash they are text
  std::string events;  ///< one line each
};

/// Reads a page: a `tools` block holds for the sections behind it; each section has a heading, its
/// options (`finish: length`, `start: reasoning`, `tool_choice: none`, `parallel: false`,
/// `stop: TEXT`, `keep_stop: true`), a `turn` and an `events` block.
std::vector<page_case> read_page(std::string_view text);

/// The turn as tokens and text.
pieces pieces_of(std::string_view turn);

/// Options without tools and stop strings.
turn_parser::options plain_options();
/// Tools given as a JSON array of {"name", "parameters"}.
std::shared_ptr<const tool_catalog> tools_of(std::string_view json_text, bool allowed = true);

/// Runs a turn and returns its events, one a line, text of one kind that follows itself joined.
std::string events_of(const turn_parser::options& options, const pieces& input,
                      finish_reason finish);
std::string to_lines(const std::vector<turn_event>& events, finish_reason finish);

/// The input with every character of its text in a piece of its own, or cut once behind byte `at`.
pieces single_characters(const pieces& input);
pieces cut_once(const pieces& input, std::size_t at);
std::size_t text_bytes(const pieces& input);

}  // namespace glimmer::test
