#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "tokenizer/tokenizer.hpp"

namespace glimmer {

/// A turn that is played instead of being computed.
struct scripted_turn {
  std::string match;  ///< substring of the last user message, or "*" for all
  std::vector<token_id> tokens;
  std::uint32_t tokens_per_step = 1;
  duration delay{};                     ///< that one step takes
  std::optional<std::size_t> fails_at;  ///< the step that would bring this token fails
};

/// Turns in the order in which they are tried.
struct script {
  std::vector<scripted_turn> turns;

  std::uint32_t tokens_per_step_max() const;
  /// The first turn that answers a prompt; nullptr when none does.
  const scripted_turn* find(std::string_view last_user_message) const;
};

/// Reads a script: one JSON object a line; empty lines count for nothing.
///
///     {"match": "weather" | "*", "k": 3, "delay_ms": 0.5, "fails_at": 20, and one of
///      "tokens": [200023, 15, ...],
///      "text":   " to=user<|message|>Rain.<|eot|>",       spelled special tokens become their ids
///      "parts":  ["<|eot|> is text here", {"special": "<|eot|>"}]}
///
/// Fails with the line's number and what is wrong with it.
result<script> parse_script(std::string_view text, const tokenizer& tokens);

/// The same from a file.
result<script> load_script(const std::string& path, const tokenizer& tokens);

/// The body of the last user message of a rendered chat; of any other prompt, all of its text.
std::string last_user_message(std::span<const token_id> prompt, const tokenizer& tokens);

}  // namespace glimmer
