#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/limits.hpp"
#include "base/request.hpp"
#include "base/result.hpp"
#include "base/sampling_params.hpp"
#include "tokenizer/prompt_pieces.hpp"
#include "tokenizer/tokenizer.hpp"

namespace glimmer {

/// A request ready for the scheduler: one sequence per choice, all with the same prompt.
struct prepared_request {
  std::shared_ptr<const std::vector<token_id>> prompt;
  std::vector<sampling_params> choices;  ///< one per choice, seeds and lengths final
  prompt_end end = prompt_end::header;   ///< where the model takes over
};

/// What a request has to fit into.
struct prompt_bounds {
  std::uint32_t context_tokens = 0;                  ///< prompt and answer together
  std::uint32_t vocab_tokens = 0;                    ///< ids are below
  std::size_t answer_bytes = limits{}.answer_bytes;  ///< that come in one piece, as estimated
};

/// Turns a validated request into tokens and final sampling parameters. Immutable; any thread may
/// call.
class request_preparer {
 public:
  request_preparer(std::shared_ptr<const tokenizer> tokens, prompt_bounds bounds);

  /// `server_date` is YYYY-MM-DD or empty; `fresh_seed` serves requests without a seed of their
  /// own. Fails with "context_length_exceeded" and the numbers when the prompt leaves no room, with
  /// the field's name when an id is out of range, for media, which are not served, and with
  /// "answer_too_large" when an answer that comes in one piece could grow beyond all bounds.
  result<prepared_request> prepare(const generation_request& request, std::string_view server_date,
                                   std::uint64_t fresh_seed) const;

  /// A prompt's tokens alone, whatever their number.
  result<std::vector<token_id>> encode(const prompt_source& source,
                                       std::string_view server_date) const;
  /// Tokens as text, special ones spelled. May be broken UTF-8.
  std::string text(std::span<const token_id> tokens) const;
  std::uint32_t context_tokens() const { return bounds_.context_tokens; }

 private:
  struct encoded_prompt {
    std::vector<token_id> tokens;
    prompt_end end = prompt_end::text;
  };
  result<encoded_prompt> encode_prompt(const prompt_source& source,
                                       std::string_view server_date) const;
  result<encoded_prompt> encode_chat(const chat_prompt& chat, std::string_view server_date) const;
  result<void> check_size(const generation_request& request, std::size_t prompt_tokens,
                          std::uint32_t max_tokens) const;
  result<void> check_ids(const sampling_params& sampling) const;
  result<void> add_bad_words(std::span<const std::string> words, sampling_params& out) const;
  void cut_front(const generation_request& request, std::vector<token_id>& prompt) const;
  result<std::uint32_t> output_room(const generation_request& request,
                                    std::size_t prompt_tokens) const;

  std::shared_ptr<const tokenizer> tokens_;
  prompt_bounds bounds_;
};

}  // namespace glimmer
