#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/events.hpp"
#include "parsers/channel.hpp"
#include "parsers/tool_catalog.hpp"

namespace glimmer {

/// What makes the ids of a request's calls unique: a number of the process drawn at its start (or
/// per request), and the request with its choice. No two calls of one conversation may share one.
struct call_id_key {
  std::uint64_t process = 0;
  std::uint64_t request = 0;
  std::uint32_t choice = 0;
};

/// "call_" and 24 letters and digits, the same for the same key and index.
std::string make_call_id(const call_id_key& key, std::uint32_t index);

/// Turns the channels of one turn into what the client reads: joins messages of one kind with a
/// newline, decodes calls by their tools' schemas, and keeps a turn from being empty. A call is
/// announced when its message ends, with all its arguments. Belongs to one sequence.
class atem_parser {
 public:
  struct options {
    bool parallel_calls = true;  ///< false: only the first call is returned
    call_id_key ids;
  };
  atem_parser(std::shared_ptr<const tool_catalog> tools, options what);

  void push(channel_event&& event, std::vector<turn_event>& out);
  /// The turn is over; `cut` when the output stopped in the middle.
  void finish(body_end how, std::vector<turn_event>& out);

  std::uint32_t calls() const { return calls_; }

 private:
  struct joiner {
    std::uint32_t message = 0;
    bool any = false;
  };

  void text(channel_event&& event, std::vector<turn_event>& out);
  void tool_message(const channel_event& event, std::vector<turn_event>& out);
  void candidate(channel_event&& event, std::vector<turn_event>& out);
  void call(std::string_view name, std::string arguments, std::vector<turn_event>& out);
  void set_aside(const tool_body& body);

  std::shared_ptr<const tool_catalog> tools_;
  options options_;
  joiner reasoning_;
  joiner content_;
  std::uint32_t calls_ = 0;
  std::optional<std::string> aside_;  // tool messages without a call
};

}  // namespace glimmer
