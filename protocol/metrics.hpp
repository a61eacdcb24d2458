#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/metric_names.hpp"

namespace glimmer {

/// Label names and values, in the order in which they are written.
using metric_labels = std::vector<std::pair<std::string, std::string>>;

/// One line (or histogram) of the exposition.
struct metric_series {
  metric id = metric::requests_running;
  metric_labels labels;
  double value = 0;                    ///< counter, gauge; sum of a histogram
  std::uint64_t observations = 0;      ///< histogram
  std::vector<std::uint64_t> buckets;  ///< histogram: observations in each bound's own interval
};

/// What one actor counts: a plain value. An actor keeps one, publishes copies, and the reader
/// merges them. Not thread-safe. Only series that were asked for exist, so nothing is told that
/// nobody fills.
class metrics {
 public:
  /// `context_tokens`: the longest sequence, where bucket lists of token counts end; 0: no end.
  explicit metrics(std::uint64_t context_tokens = 0) : context_tokens_{context_tokens} {}

  /// Place of a series; made with value 0 if new. With labels: look it up once, not per token.
  std::size_t series(metric id, const metric_labels& labels);
  /// Place of the series without labels: at no cost.
  std::size_t series(metric id);

  void add(std::size_t series, double amount = 1);  ///< counter
  void set(std::size_t series, double value);       ///< gauge
  void observe(std::size_t series, double value);   ///< histogram
  void observe(std::size_t series, double value, std::uint64_t times);

  /// Adds every series of another actor: sums, for gauges too (each tells its own part).
  void merge(const metrics& other);

  const std::vector<metric_series>& all() const { return series_; }
  std::uint64_t context_tokens() const { return context_tokens_; }

 private:
  std::uint64_t context_tokens_;
  std::vector<metric_series> series_;
  std::array<std::uint32_t, static_cast<std::size_t>(metric::count)> plain_{};  // place + 1
};

/// Bounds of a histogram's buckets for sequences of at most `context_tokens` (0: no end).
std::size_t bucket_count(metric id, std::uint64_t context_tokens);

}  // namespace glimmer
