#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/channel.hpp"

namespace glimmer {

/// Finds special tokens in text where only decoded text is available: the five spellings are the
/// tokens. A tail that begins a spelling is held. Works on bytes.
class spelled_tokens {
 public:
  /// A run of text, or a special token.
  struct piece {
    std::string text;
    std::optional<special_kind> special;
  };

  void push(std::string_view bytes, std::vector<piece>& out);
  /// The end: a held tail is text.
  void finish(std::vector<piece>& out);

 private:
  std::string held_;
};

}  // namespace glimmer
