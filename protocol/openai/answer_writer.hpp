#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/events.hpp"
#include "base/ids.hpp"
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

/// Makes the body of an answer out of the events of its choices: a stream of chunks, or one object
/// at the end, which is the fold of the same deltas.
///
///     answer.begin({}, out);                                  // once the request is admitted
///     answer.add(choice, {.events = events}, out);            // any number of times
///     answer.finish(choice, {.reason = ...}, out);            // once per choice
///     answer.end(out);                                        // or answer.abort(why, out)
///
/// Choices are numbered prompt by prompt. Appends to `out`; not thread-safe.
class answer_writer {
 public:
  virtual ~answer_writer() = default;

  /// `prompt`: prompt and cached tokens, as far as known; used with continuous usage only.
  virtual void begin(const sequence_usage& prompt, std::string& out) = 0;
  /// More log probabilities of a prompt's tokens from the second on, before any token of an answer
  /// to it.
  virtual void add_prompt(std::uint32_t prompt, std::span<const spelled_logprob> logprobs) = 0;
  virtual void add(std::uint32_t choice, const choice_delta& delta, std::string& out) = 0;
  /// `end.reason` is stop, length or tool_calls; whatever else ends a request is an `abort`.
  virtual void finish(std::uint32_t choice, const choice_end& end, std::string& out) = 0;
  /// Behind the end of every choice: the usage chunk if asked for and the end of the stream; or the
  /// whole object.
  virtual void end(std::string& out) = 0;
  /// Ends the answer with an error: the last event of a stream. Of a unary answer nothing is out
  /// yet, so that its body is the error alone, with the status of `error_response`.
  virtual void abort(const error& why, std::string& out) = 0;
};

}  // namespace glimmer
