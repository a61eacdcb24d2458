#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/events.hpp"
#include "base/ids.hpp"
#include "base/request.hpp"
#include "protocol/openai/logprobs.hpp"

namespace glimmer {

/// Where a client looks for the model's reasoning.
enum class reasoning_field : std::uint8_t { reasoning, reasoning_content, both };

/// What names one answer.
struct response_identity {
  std::string id;  ///< "chatcmpl-..."
  unix_seconds created = 0;
  reasoning_field reasoning = reasoning_field::reasoning;
  std::vector<token_id> prompt_tokens;  ///< shown with return_token_ids
};

/// What one step brought for one choice. Events may be absent while tokens are held back.
struct choice_delta {
  std::span<const turn_event> events;
  std::span<const spelled_logprob> logprobs;  ///< of the step's tokens, when asked for
  std::span<const token_id> tokens;           ///< used with return_token_ids only
  sequence_usage usage;                       ///< so far; used with continuous usage only
};

/// How a choice ended. `cause` is the stop string or stop token of the request that was met.
struct choice_end {
  finish_reason reason = finish_reason::stop;
  std::variant<std::monostate, std::string, token_id> cause;
  sequence_usage usage;
};

/// Makes the body of a chat answer out of the events of its choices: a stream of chunks, or one
/// object at the end, which is the fold of the same deltas.
///
///     chat_answer answer{request.response, identity};
///     answer.begin({}, out);                                  // once the request is admitted
///     answer.add(choice, {.events = events}, out);            // any number of times
///     answer.finish(choice, {.reason = ...}, out);            // once per choice
///     if (answer.complete()) answer.end(out);                 // or answer.abort(why, out)
///
/// Streams keep the rules that the official clients enforce: role once per choice and choice 0
/// first (all roles go out in `begin`), id and name of a call once, calls numbered from 0 without
/// gaps, one finish reason per choice, usage last. Appends to `out`; not thread-safe.
class chat_answer {
 public:
  chat_answer(response_options options, response_identity identity);

  /// `prompt`: prompt and cached tokens, as far as known; used with continuous usage only.
  void begin(const sequence_usage& prompt, std::string& out);
  void add(std::uint32_t choice, const choice_delta& delta, std::string& out);
  /// `end.reason` is stop, length or tool_calls; whatever else ends a request is an `abort`.
  void finish(std::uint32_t choice, const choice_end& end, std::string& out);
  /// Every choice has finished.
  bool complete() const;
  /// The usage chunk if asked for and the end of the stream; or the whole object.
  void end(std::string& out);
  /// Ends the answer with an error: the last event of a stream. Of a unary answer nothing is out
  /// yet, so that its body is the error alone, with the status of `error_response`.
  void abort(const error& why, std::string& out);

  /// Tokens of all choices so far; the prompt counts once.
  sequence_usage usage() const;

 private:
  /// Neighbouring events of one channel or one call, as one chunk carries them.
  struct joined_events {
    turn_event::kind what;
    std::uint32_t call_index;
    std::string_view call_id;  ///< with `name` when the call is announced here
    std::string_view name;
    std::string text;
  };

  struct tool_call {
    std::string id;
    std::string name;
    std::string arguments;
  };

  struct choice_state {
    // Streams hold back what is due with the next chunk, unary answers keep all of it.
    std::string logprobs;  ///< entries as JSON, with commas between
    std::vector<token_id> tokens;
    // Unary only.
    std::string content;
    std::string reasoning;
    std::vector<tool_call> calls;

    std::uint32_t calls_announced = 0;
    sequence_usage usage;
    bool finished = false;
    choice_end end;
  };

  joined_events join(std::span<const turn_event>& events) const;
  void take(choice_state& choice, const joined_events& delta) const;
  void fold(choice_state& choice, const joined_events& delta) const;

  void begin_chunk(std::uint32_t index, std::string& out) const;
  void end_choice(choice_state& choice, const choice_end* end, std::string& out) const;
  void end_chunk(std::string& out) const;
  void append_delta(const joined_events& delta, std::string& out) const;
  void append_reasoning(std::string_view text, std::string& out) const;

  void append_usage_chunk(std::string& out) const;
  void append_body(std::string& out) const;
  void append_choice(const choice_state& choice, std::string& out) const;

  response_options options_;
  response_identity identity_;
  std::string chunk_head_;  ///< the bytes before the choice's index, the same in every chunk
  std::vector<choice_state> choices_;
};

}  // namespace glimmer
