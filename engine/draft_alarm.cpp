#include "engine/draft_alarm.hpp"

#include <fmt/format.h>

namespace glimmer {

std::optional<std::string> draft_alarm::look(const drafting_stats& stats) {
  const auto rounds = stats.rounds - rounds_;
  if (told_ || rounds < rounds_min) return std::nullopt;
  const auto mean =
      1 + static_cast<double>(stats.accepted - accepted_) / static_cast<double>(rounds);
  rounds_ = stats.rounds;
  accepted_ = stats.accepted;
  if (mean >= stats.acceptance_floor) return std::nullopt;
  told_ = true;
  return fmt::format(
      "the drafter is loaded but useless: {} blocks of drafts brought {:.2f} tokens each, and "
      "below "
      "{:.2f} it is not worth its time; is the head made for this model?",
      rounds, mean, stats.acceptance_floor);
}

}  // namespace glimmer
