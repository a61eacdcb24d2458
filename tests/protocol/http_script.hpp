#pragma once

#include <string>
#include <string_view>

#include "protocol/http_parser.hpp"

namespace glimmer {

/// What a parser made of some bytes, as text that two runs can be compared by.
struct parse_outcome {
  std::string events;  ///< "head complete head refused(413)"; bodies are not events here
  std::string bodies;  ///< all body bytes, each request's ended by '|'
  friend bool operator==(const parse_outcome&, const parse_outcome&) = default;
};

/// Feeds `text` in the pieces that `next_size(left)` asks for.
template <class NextSize>
parse_outcome parse_in_pieces(std::string_view text, const limits& bounds, NextSize next_size) {
  http_parser parser{bounds};
  parse_outcome outcome;
  while (!text.empty()) {
    auto piece = text.substr(0, next_size(text.size()));
    text.remove_prefix(piece.size());
    for (bool more = true; more;) {
      switch (parser.next(piece)) {
        case http_event::need_more: more = false; break;
        case http_event::head: outcome.events += "head "; break;
        case http_event::body: outcome.bodies += parser.data(); break;
        case http_event::complete:
          outcome.events += "complete ";
          outcome.bodies += '|';
          parser.reset();
          break;
        case http_event::refused:
          outcome.events += "refused(" + std::to_string(parser.refusal().status) + ")";
          return outcome;
      }
    }
  }
  return outcome;
}

inline parse_outcome parse_whole(std::string_view text, const limits& bounds = {}) {
  return parse_in_pieces(text, bounds, [](std::size_t left) { return left; });
}

}  // namespace glimmer
