#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace glimmer {

/// Why a sequence ended, as a client reads it.
enum class finish_reason : std::uint8_t { stop, length, tool_calls, cancelled, error };

/// One token's probability with its best competitors, best first.
struct token_logprob {
  token_id token = 0;
  float logprob = 0;
  std::vector<std::pair<token_id, float>> top;
};

/// One piece of a turn, in order of generation. The unary answer is the fold of these.
struct turn_event {
  enum class kind : std::uint8_t {
    reasoning,       ///< text: more of the reasoning channel
    content,         ///< text: more of the answer
    tool_call,       ///< call_index, call_id, name: a call is announced, its name final
    tool_arguments,  ///< call_index, text: more of that call's argument JSON
  };
  kind what = kind::content;
  std::uint32_t call_index = 0;
  std::string text;
  std::string call_id;
  std::string name;
  friend bool operator==(const turn_event&, const turn_event&) = default;
};

/// Token counts of one sequence, as billed.
struct sequence_usage {
  std::uint32_t prompt_tokens = 0;
  std::uint32_t cached_tokens = 0;
  std::uint32_t completion_tokens = 0;
  std::uint32_t reasoning_tokens = 0;
};

}  // namespace glimmer
