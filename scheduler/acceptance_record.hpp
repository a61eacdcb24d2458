#pragma once

#include <array>
#include <cstdint>

#include "scheduler/drafting.hpp"

namespace glimmer {

/// What became of one block of drafts.
struct draft_round {
  std::uint32_t drafted = 0;
  std::uint32_t accepted = 0;
};

/// How often the draft at each position was right, given that all before it were. The past fades,
/// and what was never tried is as good as the position before it.
class acceptance_record {
 public:
  /// `memory`: what is left of a count after one more round, below 1.
  explicit acceptance_record(float memory) : memory_{memory} {}

  void observe(const draft_round& round);

  using rates = std::array<float, draft_tokens_max>;
  /// Chances from what was seen alone, starting from a hopeful guess.
  rates chances() const;
  /// Chances of something that follows `others` until it was seen itself.
  rates chances(const rates& others) const;

 private:
  float memory_;
  rates tried_{};
  rates right_{};
};

}  // namespace glimmer
