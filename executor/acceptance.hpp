#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace glimmer {

/// Verifies drafts exactly: every row draws its own token, with the random number of its own
/// output index, as if there were no drafts; the rows count as long as the token before them was
/// what the draft said.
///
///     rows     anchor  draft 0  draft 1  draft 2
///     drawn      a        b        c        -        accepted: drafts 0 and 1 were a and b,
///     drafts     a        b        x        y        draft 2 (x) was not c
///
/// Calls `draw(i)` for row i = 0, 1, ... up to the first disagreement, at most drafts + 1 times,
/// and returns the tokens drawn: one more than accepted. nullopt when a draw gave nullopt.
template <class Draw>
std::optional<std::vector<token_id>> accept_drafts(std::span<const token_id> drafts, Draw draw) {
  std::vector<token_id> drawn;
  for (std::size_t i = 0; i <= drafts.size(); ++i) {
    const std::optional<token_id> token = draw(i);
    if (!token) return std::nullopt;
    drawn.push_back(*token);
    if (i < drafts.size() && *token != drafts[i]) break;
  }
  return drawn;
}

}  // namespace glimmer
