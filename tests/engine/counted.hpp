#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "protocol/metrics.hpp"

namespace glimmer {

/// Sum of the series of a metric that carry all these label values; observations of a histogram.
inline double counted(const metrics& from, metric id, std::vector<std::string_view> labels = {}) {
  double sum = 0;
  for (const auto& series : from.all()) {
    if (series.id != id) continue;
    const bool meant = std::ranges::all_of(labels, [&](std::string_view wanted) {
      return std::ranges::any_of(series.labels, [&](const auto& l) { return l.second == wanted; });
    });
    const bool histogram = definition_of(id).kind == metric_kind::histogram;
    if (meant) sum += histogram ? static_cast<double>(series.observations) : series.value;
  }
  return sum;
}

}  // namespace glimmer
