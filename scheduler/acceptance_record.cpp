#include "scheduler/acceptance_record.hpp"

#include <algorithm>

namespace glimmer {

namespace {

constexpr float hopeful = 0.8f;
constexpr float weight_of_neighbour = 2;
constexpr float weight_of_others = 4;

}  // namespace

// Draft i was tried when all before it were right.
void acceptance_record::observe(const draft_round& round) {
  const auto tried = std::min(round.drafted, round.accepted + 1);
  for (std::uint32_t i = 0; i < tried; ++i) {
    tried_[i] = tried_[i] * memory_ + 1;
    right_[i] = right_[i] * memory_ + (i < round.accepted ? 1 : 0);
  }
}

acceptance_record::rates acceptance_record::chances() const {
  rates out{};
  auto before = hopeful;
  for (std::size_t i = 0; i < out.size(); ++i) {
    before = out[i] =
        (weight_of_neighbour * before + right_[i]) / (weight_of_neighbour + tried_[i]);
  }
  return out;
}

acceptance_record::rates acceptance_record::chances(const rates& others) const {
  rates out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = (weight_of_others * others[i] + right_[i]) / (weight_of_others + tried_[i]);
  }
  return out;
}

}  // namespace glimmer
