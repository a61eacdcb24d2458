#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "tokenizer/tokenizer.hpp"

namespace glimmer {

/// Where the model takes over; the output parser starts in the same state.
enum class prompt_end : std::uint8_t {
  header,     ///< behind `<|start|>assistant`: the model writes the recipient
  reasoning,  ///< inside a body addressed to itself
  content,    ///< inside a body addressed to the user
  closed,     ///< behind the end of a message
  text,       ///< not a chat at all
};

/// A medium's place in the prompt; `patch` or `video` is what stands there until it is expanded.
struct media_placeholder {
  control_token placeholder = control_token::patch;
  std::string url;
  std::size_t message = 0;  ///< index of the message it came with
  std::size_t part = 0;     ///< index within that message's content
};

/// A prompt before tokenising: control tokens, written by the template alone, and the runs of
/// text between them. Two text runs never touch, so each is encoded as one string.
class prompt_pieces {
 public:
  using piece = std::variant<control_token, std::string, media_placeholder>;

  void add(control_token token) { pieces_.emplace_back(token); }
  void add(media_placeholder medium) { pieces_.emplace_back(std::move(medium)); }
  /// Extends the current text run, or opens one.
  void add(std::string_view text);

  const std::vector<piece>& pieces() const { return pieces_; }
  prompt_end end = prompt_end::header;

 private:
  std::vector<piece> pieces_;
};

/// A prompt as one readable string.
struct prompt_text {
  std::string text;
  /// Byte ranges [from, to) of `text` that look like special tokens but are text from outside.
  std::vector<std::pair<std::size_t, std::size_t>> literal_spans;
};

prompt_text to_text(const prompt_pieces& prompt);

/// Token ids of a prompt; media are represented by their placeholders.
result<std::vector<token_id>> to_tokens(const prompt_pieces& prompt, const tokenizer& tokens);

}  // namespace glimmer
