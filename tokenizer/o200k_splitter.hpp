#pragma once

#include <string_view>

#include "tokenizer/pretokenizer.hpp"

namespace glimmer {

/// The public o200k split pattern, as it is spelled in a tokenizer.json.
extern const std::string_view o200k_pattern;

/// Cuts as `o200k_pattern` does, without a regex engine: one pass, no backtracking beyond the
/// current piece. White space is Unicode's White_Space.
class o200k_splitter final : public splitter {
 public:
  result<void> split(std::string_view text, const piece_ends& pieces,
                     piece_ends& out) const override;
};

}  // namespace glimmer
