#pragma once

#include <array>
#include <cstdint>

namespace glimmer {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four
/// 32-bit words that depend on (key, counter) alone. No state, so any token can be drawn again.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// The draw for one output position of one sequence: uniform in (0, 1), the same for every
/// batch, chunking and drafter. `stream` separates independent uses at one position.
struct random_key {
  std::uint64_t seed = 0;
  std::uint64_t position = 0;  ///< absolute output index, counted from 0
  std::uint32_t stream = 0;
};
double uniform_draw(random_key key);

/// The seed of choice `choice` of a request whose client gave `seed`.
std::uint64_t choice_seed(std::uint64_t seed, std::uint32_t choice);

}  // namespace glimmer
