#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/body_tail.hpp"
#include "parsers/channel.hpp"
#include "parsers/tool_catalog.hpp"

namespace glimmer {

/// Sorts the tokens of one turn into channels. Only real special tokens are structure; text that
/// spells them is text. Work per token depends on the token alone, never on what came before;
/// text is handed on as soon as no rule can take it back. Belongs to one sequence.
class channel_splitter {
 public:
  channel_splitter(std::shared_ptr<const tool_catalog> tools, turn_start start);

  /// An ordinary token arrives; the text it completes follows.
  void count_token();
  /// Text of ordinary tokens (UTF-8, whole characters).
  void text(std::string_view text, std::vector<channel_event>& out);
  /// One special token.
  void special(special_kind kind, std::vector<channel_event>& out);
  /// No more tokens; `cut` when the output stopped in the middle. Settles what is held.
  void finish(body_end how, std::vector<channel_event>& out);

  /// The turn is over; the rest is ignored.
  bool ended() const { return place_ == place::ended; }
  /// It is over because the model began someone else's message.
  bool foreign() const { return foreign_; }
  /// Tokens inside bodies the model addressed to itself, without headers and end tokens.
  std::uint32_t reasoning_tokens() const { return reasoning_tokens_; }
  /// A body that the model addressed to itself is open.
  bool in_reasoning() const { return body_ && body_->to == channel::reasoning; }
  /// Bytes not handed on yet that are not the body of a tool message.
  std::size_t held_bytes() const;

 private:
  enum class place : std::uint8_t {
    opening,     // outside any message, behind no `<|start|>`
    framed,      // behind `<|start|>`; an open body waits
    body,        // inside a message
    look_ahead,  // behind a bare tool header; whether it is one depends on what follows
    ended,
  };
  struct open_body {
    channel to = channel::content;
    std::uint32_t message = 0;
    std::string recipient;
    body_tail tail;
    bool candidate = false;  // untagged, call markup found
    tool_body calls;         // tool messages and candidates
    bool collects() const { return to == channel::tool || candidate; }
  };
  using events = std::vector<channel_event>;

  void end_message(body_end how, events& out);

  void opening_text(std::string_view text, events& out);
  void open_loose_text(events& out);
  void settle_bare_text(body_end how, events& out);
  void framed_text(std::string_view text, events& out);
  void abandon_frame(events& out);
  void on_start(events& out);
  void on_message(events& out);
  void bare_message(events& out);
  void framed_message(events& out);

  void body_text(std::string_view text, events& out);
  void body_message(events& out);
  bool leave_text_body(const std::string& recipient, events& out);
  bool leave_collected_body(events& out);
  void replace_body(const std::string& recipient, events& out);
  void look_ahead_text(std::string_view text, events& out);
  void abandon_look_ahead(events& out);

  void open_addressed(const std::string& recipient);
  void open(channel to, std::string_view recipient);
  void show(std::string text, events& out);
  void close(body_end how, events& out);
  void settle_tokens();

  std::shared_ptr<const tool_catalog> tools_;
  place place_ = place::opening;
  bool foreign_ = false;
  std::string bare_;    // opening: header text so far
  std::string framed_;  // framed: header text behind `<|start|>`
  std::string ahead_;   // look_ahead: text behind the header
  std::size_t ahead_matched_ = 0;
  std::optional<open_body> body_;
  std::uint32_t messages_ = 0;
  std::uint32_t reasoning_tokens_ = 0;
  std::uint32_t undecided_tokens_ = 0;  // held: reasoning, unless they become a header
};

}  // namespace glimmer
