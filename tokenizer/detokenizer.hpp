#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "tokenizer/tokenizer.hpp"

namespace glimmer {

/// Turns a stream of bytes into whole characters: what has been handed out is always valid UTF-8
/// and never ends within a character. Invalid bytes become U+FFFD, one per maximal broken
/// sequence, as soon as they are known to be invalid. Holds at most 3 bytes.
class utf8_stream {
 public:
  /// Appends to `out` every character that `bytes` completes.
  void push(std::string_view bytes, std::string& out);
  /// The stream ends: an unfinished character becomes one U+FFFD.
  void finish(std::string& out);
  std::size_t held() const { return held_; }

 private:
  char tail_[4] = {};
  std::uint8_t held_ = 0;
};

/// Tokens of one sequence to text, as they come. Special tokens are not text and are ignored.
/// Belongs to one sequence; not thread-safe.
class detokenizer {
 public:
  explicit detokenizer(std::shared_ptr<const tokenizer> source);

  /// Appends the characters that `token` completes; may append nothing.
  void push(token_id token, std::string& out);
  /// End of the text or of a run: an unfinished character becomes one U+FFFD.
  void finish(std::string& out) { stream_.finish(out); }
  /// Bytes of a character that is not complete yet.
  std::size_t held() const { return stream_.held(); }

  /// Raw bytes of a token, e.g. for logprobs; a special token's spelling.
  std::string_view token_bytes(token_id token) const;
  bool is_special(token_id token) const { return source_->words().is_special(token); }

 private:
  std::shared_ptr<const tokenizer> source_;
  utf8_stream stream_;
};

}  // namespace glimmer
