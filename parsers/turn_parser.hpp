#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/events.hpp"
#include "parsers/atem_parser.hpp"
#include "parsers/channel.hpp"
#include "parsers/channel_splitter.hpp"
#include "parsers/stop_matcher.hpp"
#include "parsers/tool_catalog.hpp"

namespace glimmer {

/// One turn from tokens to events: channel_splitter, atem_parser, and the search for stop strings
/// in the content. The concatenated events do not depend on how the text was cut. Belongs to one
/// sequence.
class turn_parser {
 public:
  struct options {
    std::shared_ptr<const tool_catalog> tools;
    std::shared_ptr<const stop_strings> stops;
    stop_matcher::keep_match keep_stop = stop_matcher::keep_match::no;
    turn_start start = turn_start::header;
    bool channels = true;  ///< false: all text is content, special tokens are nothing
    atem_parser::options calls;
  };
  explicit turn_parser(options what);

  /// One ordinary token: its text (UTF-8, whole characters), which may be empty.
  void text(std::string_view text, std::vector<turn_event>& out);
  /// Text that belongs to the token before: what its unfinished character became.
  void late_text(std::string_view text, std::vector<turn_event>& out);
  /// One special token.
  void special(special_kind kind, std::vector<turn_event>& out);
  /// No more tokens. Returns `how`, or tool_calls where it was a normal end with calls.
  finish_reason finish(finish_reason how, std::vector<turn_event>& out);

  /// Whether stop strings that become complete in what follows end the turn; at first they do.
  void watch_stops(bool on) { stop_.watch(on); }

  /// A stop string is complete or the turn is over: later tokens are ignored.
  bool ended() const { return must_stop() || splitter_.ended(); }
  /// Nothing useful can follow: a stop string, or the model began someone else's message.
  bool must_stop() const { return !stop_.found().empty() || splitter_.foreign(); }
  /// The stop string that ended the turn; empty if none did.
  std::string_view stop_string() const { return stop_.found(); }
  std::uint32_t reasoning_tokens() const { return splitter_.reasoning_tokens(); }
  bool in_reasoning() const { return splitter_.in_reasoning(); }

 private:
  void parse(std::vector<turn_event>& out);
  void emit(std::vector<turn_event>& out);
  void flush_stop(std::vector<turn_event>& out);

  bool channels_;
  channel_splitter splitter_;
  atem_parser calls_;
  stop_matcher stop_;
  std::vector<channel_event> sorted_;  // of the current token
  std::vector<turn_event> parsed_;
};

}  // namespace glimmer
