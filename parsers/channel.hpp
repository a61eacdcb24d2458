#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glimmer {

/// What a special token means to the reader of a turn. `other` yields nothing.
enum class special_kind : std::uint8_t { start, message, eom, eot, other };

/// How a special token would look as text, e.g. "<|message|>"; empty for `other`.
std::string_view spelling(special_kind kind);

/// Who a message is for. `untagged` has no recipient: content, unless it holds calls.
enum class channel : std::uint8_t { reasoning, content, untagged, tool };

/// The state the prompt leaves the model in.
enum class turn_start : std::uint8_t {
  header,     ///< the model writes a header first
  reasoning,  ///< inside a body addressed to itself
  content,    ///< inside a body addressed to the user
};

/// What closed a body.
enum class body_end : std::uint8_t {
  closed,  ///< a token, another header, or the normal end of the turn
  cut,     ///< the output stopped in the middle
};

/// Text that may hold calls. A real `<|message|>` or `<|start|>` inside stands in `text` by its
/// spelling, with its place in `markers`, so that the same spelling made of ordinary tokens can be
/// told apart.
struct tool_body {
  struct marker {
    std::size_t offset = 0;
    special_kind kind = special_kind::message;
    friend bool operator==(const marker&, const marker&) = default;
  };

  std::string text;
  std::vector<marker> markers;  ///< ascending

  /// Appends the spelling of a real control token.
  void add_marker(special_kind kind);
  struct range {
    std::size_t begin = 0;
    std::size_t end = std::string::npos;
  };
  /// A part of the text, by default all of it, without its real control tokens.
  std::string plain_text(range part) const;
  std::string plain_text() const { return plain_text(range{}); }

  friend bool operator==(const tool_body&, const tool_body&) = default;
};

/// One piece of a turn, sorted by recipient. Text comes as soon as it is certain; what may hold
/// calls comes whole, when its message ends.
struct channel_event {
  enum class kind : std::uint8_t {
    text,          ///< more of message `message`: `text`, on any channel but tool
    tool_message,  ///< `recipient`, `body`, `end`
    candidate,     ///< tail of an untagged message from its first call markup on: `body`, `end`
  };
  kind what = kind::text;
  channel to = channel::content;
  std::uint32_t message = 0;  ///< counts up; two texts with the same number are one message
  std::string text;
  std::string recipient;
  tool_body body;
  body_end end = body_end::closed;
};

}  // namespace glimmer
