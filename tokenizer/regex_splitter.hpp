#pragma once

#include <memory>
#include <string_view>

#include "tokenizer/pretokenizer.hpp"

namespace glimmer {

/// Cuts by any regular expression, through PCRE2's compiler to machine code: each match is a
/// piece, and so is each gap between matches. Classes are Unicode's; `\s` is White_Space, as in
/// the engines that tokenizers are trained with.
class regex_splitter final : public splitter {
 public:
  /// Fails with PCRE2's words and the place in the pattern.
  static result<std::shared_ptr<const splitter>> compile(std::string_view pattern);

  result<void> split(std::string_view text, const piece_ends& pieces,
                     piece_ends& out) const override;

 private:
  struct compiled;
  explicit regex_splitter(std::shared_ptr<const compiled> regex) : regex_{std::move(regex)} {}
  std::shared_ptr<const compiled> regex_;
};

}  // namespace glimmer
