#pragma once

#include <optional>
#include <span>
#include <string>

#include "scheduler/block_manager.hpp"
#include "scheduler/sequence.hpp"

namespace glimmer {

/// Checks the books of the blocks against the sequences that hold them: every block is free,
/// cached or used; it has as many users as tables name it; every table covers what its sequence
/// has computed and still needs. Returns the first broken rule in words.
std::optional<std::string> broken_block_book(const block_manager& blocks,
                                             std::span<const sequence* const> sequences);

/// Checks one sequence by itself: its lengths and its state.
std::optional<std::string> broken_sequence(const sequence& s);

}  // namespace glimmer
