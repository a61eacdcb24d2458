#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/events.hpp"
#include "base/ids.hpp"

namespace glimmer {

/// Why a sequence ended, as the scheduler sees it; the parser derives the finish reason.
enum class end_cause : std::uint8_t {
  stop_token,   ///< an end token of the model or of the request
  length,       ///< max_tokens, the context, or the KV pools
  stop_string,  ///< `end`: the parser found a stop string or the end of the turn
  cancelled,    ///< `cancel`, or parked too long
  deadline,     ///< the request's time is over
  error,        ///< its step failed, or made no progress again and again
};
inline constexpr std::size_t end_cause_count = 6;

enum class cancel_reason : std::uint8_t {
  gone,      ///< the client is no longer there
  deadline,  ///< ends with `end_cause::deadline`
  abort,     ///< asked for by id
  parked,    ///< the client has not read for too long
  shutdown,  ///< the server leaves
  sibling,   ///< another choice of its request ended in an error
};

std::string_view to_string(end_cause cause);
std::string_view to_string(cancel_reason reason);

/// New tokens of one sequence, oldest first.
struct sequence_output {
  sequence_id id;
  request_id request;
  std::uint32_t first_index = 0;    ///< output index of tokens[0]
  std::uint32_t cached_tokens = 0;  ///< of the prompt, found in the prefix cache
  std::vector<token_id> tokens;
  std::vector<token_logprob> logprobs;  ///< one per token, when asked for
  /// When asked for: of the prompt tokens from the second on, each exactly once per request, by
  /// the choice that computes the prompt.
  std::vector<token_logprob> prompt_logprobs;
};

/// The last word about a sequence: exactly one per submitted choice, whatever happens.
struct sequence_finished {
  sequence_id id;
  request_id request;
  end_cause cause = end_cause::error;
  std::optional<cancel_reason> reason;  ///< with `cancelled`
  std::optional<token_id> stop_token;   ///< with `stop_token`; it is also the last output token
  sequence_usage usage;                 ///< reasoning_tokens is left to the parser
};

/// What one step brought. Deliver `outputs` first: a sequence may be in both.
struct committed {
  std::vector<sequence_output> outputs;
  std::vector<sequence_finished> finished;
};

}  // namespace glimmer
