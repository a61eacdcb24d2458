#pragma once

#include <string>
#include <string_view>

namespace glimmer {

/// The end of every OpenAI stream.
inline constexpr std::string_view sse_done = "data: [DONE]\n\n";

/// A comment, which every client skips. Never `event:`, `id:` or `retry:`: the official Python
/// client turns those into empty events and fails on them.
inline constexpr std::string_view sse_keep_alive = ": keep-alive\n\n";

/// Writes one event around what is appended to `out` during its life:
///
///     { sse_event event{out}; write_json(out); }
///
/// The payload must be one line, as JSON text without blanks is.
class sse_event {
 public:
  explicit sse_event(std::string& out) : out_{out} { out_ += "data: "; }
  ~sse_event() { out_ += "\n\n"; }
  sse_event(const sse_event&) = delete;
  sse_event& operator=(const sse_event&) = delete;

 private:
  std::string& out_;
};

/// Appends one whole event; a payload of several lines becomes several `data:` lines.
void append_sse_event(std::string& out, std::string_view payload);

}  // namespace glimmer
