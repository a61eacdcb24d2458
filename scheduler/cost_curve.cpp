#include "scheduler/cost_curve.hpp"

#include <algorithm>
#include <bit>

namespace glimmer {

// Two bins per power of two: the second highest bit tells which.
std::size_t cost_curve::bin_of(std::uint32_t rows) {
  const auto width = static_cast<std::uint32_t>(std::bit_width(rows | 1u));
  const auto upper_half = width > 1 ? (rows >> (width - 2)) & 1u : 0u;
  return std::min<std::size_t>(2 * (width - 1) + upper_half, bins_max - 1);
}

void cost_curve::observe(const cost& seen) {
  ++seen_;
  auto& mine = bins_[bin_of(seen.rows)];
  const auto time = static_cast<double>(std::max<std::int64_t>(seen.time.count(), 1));
  const auto weight = 1.0 / std::min(++mine.count, 8u);
  mine.rows += (seen.rows - mine.rows) * weight;
  mine.time += (time - mine.time) * weight;
  mine.last = seen_;
}

bool cost_curve::knows(std::uint32_t rows) const {
  return bins_[bin_of(rows)].count >= seen_enough;
}

std::uint64_t cost_curve::age(std::uint32_t rows) const {
  return seen_ - bins_[bin_of(rows)].last;
}

double cost_curve::expect(std::uint32_t rows) const {
  point below{};
  double slope = 0;
  bool any = false;
  for (const auto& b : bins_) {
    if (b.count == 0) continue;
    const point here{b.rows, std::max(b.time, below.time)};
    if (rows <= here.rows) {
      if (!any) return here.time;
      return below.time + (rows - below.rows) / (here.rows - below.rows) * (here.time - below.time);
    }
    if (any) slope = (here.time - below.time) / (here.rows - below.rows);
    below = here;
    any = true;
  }
  return any ? below.time + slope * (rows - below.rows) : 0;
}

double cost_curve::at_worst(std::uint32_t rows) const {
  point last{};
  for (const auto& b : bins_) {
    if (b.count > 0) last = {b.rows, std::max(b.time, last.time)};
  }
  if (rows <= last.rows || last.rows == 0) return expect(rows);
  return std::max(expect(rows), last.time * rows / last.rows);
}

}  // namespace glimmer
