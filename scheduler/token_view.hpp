#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace glimmer {

/// All tokens of one sequence in two pieces; valid while neither piece changes.
struct token_view {
  std::span<const token_id> prompt;
  std::span<const token_id> output;

  /// Tokens [begin, begin + count).
  struct part {
    std::size_t begin = 0;
    std::size_t count = 0;
  };

  std::size_t size() const { return prompt.size() + output.size(); }

  /// One part of all tokens, copied into `scratch` only when it lies in both pieces.
  std::span<const token_id> read(part wanted, std::vector<token_id>& scratch) const {
    const auto [begin, count] = wanted;
    if (begin + count <= prompt.size()) return prompt.subspan(begin, count);
    if (begin >= prompt.size()) return output.subspan(begin - prompt.size(), count);
    const auto head = prompt.subspan(begin);
    const auto tail = output.first(count - head.size());
    scratch.assign(head.begin(), head.end());
    scratch.insert(scratch.end(), tail.begin(), tail.end());
    return scratch;
  }
};

}  // namespace glimmer
