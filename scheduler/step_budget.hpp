#pragma once

#include <cstdint>
#include <span>

namespace glimmer {

/// What one sequence would compute if the step had no end, and what it gets.
struct token_demand {
  std::uint32_t tokens = 0;  ///< not yet computed; 1 when decoding
  std::uint32_t granted = 0;
};

/// Splits the rows of one step. `demands` is in order of service and not longer than `budget`.
/// Demands of one token (streams that decode) come first, whole. Of the rest the first prompt
/// gets one half, the others share the other half evenly, and what the short ones leave goes to
/// the first ones in order. Everybody gets at least one token.
void split_tokens(std::uint32_t budget, std::span<token_demand> demands);

/// The prefix of `rows` at `position` that ends with a block, when the rest of the prompt has to
/// wait anyway: whole blocks can be shared sooner and start the next chunk aligned.
struct row_bounds {
  std::uint32_t position = 0;
  std::uint32_t rows = 0;
};
std::uint32_t whole_block_rows(row_bounds range, std::uint32_t block_size);

}  // namespace glimmer
