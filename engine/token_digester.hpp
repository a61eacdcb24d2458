#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/events.hpp"
#include "base/ids.hpp"
#include "base/request.hpp"
#include "parsers/turn_parser.hpp"
#include "tokenizer/detokenizer.hpp"
#include "tokenizer/prompt_pieces.hpp"
#include "tokenizer/tokenizer.hpp"

namespace glimmer {

/// What all choices of one request share when their tokens become events. Immutable.
struct digest_context {
  std::shared_ptr<const tokenizer> tokens;
  std::shared_ptr<const tool_catalog> tools;
  std::shared_ptr<const stop_strings> stops;
  call_id_key call_ids;  ///< choice 0
  bool chat = true;
  bool parallel_calls = true;
  bool include_stop_string = false;
  bool show_special_tokens = false;
};

/// Prepares a request's context; `call_ids` must differ for every request of the process, and
/// between processes.
std::shared_ptr<const digest_context> make_digest_context(std::shared_ptr<const tokenizer> tokens,
                                                          const response_options& response,
                                                          call_id_key call_ids);

/// One sequence: tokens in, turn events out. Without chat all text is content. Not thread-safe;
/// work per token depends on the token alone.
class token_digester {
 public:
  /// Where a sequence begins.
  struct origin {
    prompt_end end = prompt_end::header;
    std::uint32_t choice = 0;
    std::uint32_t min_tokens = 0;  ///< stop strings complete in so many tokens do not count
  };
  token_digester(std::shared_ptr<const digest_context> context, origin from);

  /// What a batch of tokens led to.
  struct digested {
    bool ended = false;           ///< a stop string, or the model began someone else's message
    std::uint32_t end_index = 0;  ///< output index of the token that ended it, counted from 0
    std::optional<std::string> stop_string;
  };
  /// Appends the events of the next output tokens. Tokens behind the end are ignored.
  digested push(std::span<const token_id> tokens, std::vector<turn_event>& out);

  /// No more tokens: settles what is held. `cause` is stop, length, cancelled or error; returns
  /// tool_calls instead of stop when the turn made calls.
  finish_reason finish(finish_reason cause, std::vector<turn_event>& out);

  /// Output tokens inside reasoning bodies, for usage.
  std::uint32_t reasoning_tokens() const { return parser_.reasoning_tokens(); }
  /// Reasoning is open: the last token belongs to it, or may yet turn out to.
  bool in_reasoning() const { return parser_.in_reasoning(); }
  /// Output tokens taken so far; those behind the end do not count.
  std::uint32_t tokens() const { return count_; }

 private:
  void take(token_id token, std::vector<turn_event>& out);
  void flush_text(std::vector<turn_event>& out);
  special_kind kind_of(token_id token) const;

  std::shared_ptr<const digest_context> context_;
  detokenizer text_;
  turn_parser parser_;
  std::string characters_;  // of the current token
  std::uint32_t count_ = 0;
  std::uint32_t min_tokens_;
};

}  // namespace glimmer
