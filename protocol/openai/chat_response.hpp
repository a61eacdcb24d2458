#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/events.hpp"
#include "base/ids.hpp"
#include "base/request.hpp"
#include "protocol/openai/answer_writer.hpp"

namespace glimmer {

/// Makes the body of a chat answer.
///
/// Streams keep the rules that the official clients enforce: role once per choice and choice 0
/// first (all roles go out in `begin`, or with the first tokens if usage runs along), id and name
/// of a call once, calls numbered from 0 without gaps, one finish reason per choice, usage last.
/// Appends to `out`; not thread-safe.
class chat_answer final : public answer_writer {
 public:
  chat_answer(response_options options, response_identity identity);

  void begin(const sequence_usage& prompt, std::string& out) override;
  void add_prompt(std::uint32_t prompt, std::span<const spelled_logprob> logprobs) override;
  void add(std::uint32_t choice, const choice_delta& delta, std::string& out) override;
  void finish(std::uint32_t choice, const choice_end& end, std::string& out) override;
  void end(std::string& out) override;
  void abort(const error& why, std::string& out) override;
  /// Every choice has finished.
  bool complete() const;

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

  void give_roles(std::string& out);
  void tell_usage(choice_state& choice, const sequence_usage& usage, std::string& out);
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
  bool roles_due_ = false;
  std::vector<spelled_logprob> prompt_logprobs_;
};

}  // namespace glimmer
