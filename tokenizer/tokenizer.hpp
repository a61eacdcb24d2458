#pragma once

#include <cstdint>
#include <memory>
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

  /// Bytes of all base tokens and, with `show_special`, spellings of the special ones.
  std::string decode(const std::vector<token_id>& tokens, bool show_special = false) const;

  const vocabulary& words() const { return words_; }
  token_id id(control_token which) const { return words_.id(which); }

 private:
  tokenizer() = default;

  vocabulary words_;
  pretokenizer split_;
  bpe merges_;
};

}  // namespace glimmer
