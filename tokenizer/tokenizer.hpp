#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/pretokenizer.hpp"
#include "tokenizer/vocabulary.hpp"

namespace glimmer {

enum class bos_policy : std::uint8_t { none, prepend };
enum class special_text : std::uint8_t { omitted, spelled };

/// Text to tokens, as the checkpoint's tokenizer.json says. Special tokens are never recognised
/// in text: `<|eot|>` written by a user stays text. Immutable after load, share it by pointer.
class tokenizer {
 public:
  /// Reads a tokenizer.json.
  static result<std::shared_ptr<const tokenizer>> load(const std::string& path);
  /// The same from the file's text.
  static result<std::shared_ptr<const tokenizer>> parse(std::string_view json_text);

  /// Appends the tokens of `text` (UTF-8), encoded as one run.
  result<void> append(std::string_view text, std::vector<token_id>& out) const;
  result<std::vector<token_id>> encode(std::string_view text,
                                       bos_policy bos = bos_policy::none) const;

  /// The raw bytes of the base tokens, joined; special tokens are left out or spelled. May end
  /// within a character; `utf8_stream` mends that.
  std::string decode(std::span<const token_id> tokens,
                     special_text specials = special_text::omitted) const;

  const vocabulary& words() const { return words_; }
  token_id id(control_token which) const { return words_.id(which); }

 private:
  tokenizer() = default;

  vocabulary words_;
  pretokenizer split_;
  bpe merges_;
};

}  // namespace glimmer
