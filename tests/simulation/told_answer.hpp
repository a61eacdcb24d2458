#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/json.hpp"

namespace glimmer {

/// One choice of an answer as a client reads it: a stream's deltas joined, a unary answer as it is.
struct told_choice {
  std::string content;
  std::string reasoning;
  std::map<std::size_t, std::string> calls;  ///< by index: name, '(' and the arguments
  std::string finish_reason;
  std::vector<token_id> tokens;
  friend bool operator==(const told_choice&, const told_choice&) = default;
};

/// A chat's answer, whichever way it came.
struct told_answer {
  std::map<std::size_t, told_choice> choices;
  std::optional<std::string> error;  ///< its code; in band or as the body
  bool done = false;                 ///< a stream said so; a unary answer always is

  /// One chunk, or the body of a unary answer.
  void add(const json& part);
};

/// The body of a unary answer. Not JSON: an error named "broken".
told_answer read_unary(std::string_view body);
/// The events of a stream, which may end anywhere.
told_answer read_stream(std::string_view events);

/// An HTTP/1.1 answer as far as it came.
struct http_answer {
  int status = 0;
  std::string body;  ///< out of its chunks
  bool stream = false;
  bool whole = false;
};
http_answer read_http(std::string_view bytes);

}  // namespace glimmer
