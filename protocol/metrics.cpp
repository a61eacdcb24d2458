#include "protocol/metrics.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace glimmer {

std::size_t bucket_count(metric id, std::uint64_t context_tokens) {
  const auto& definition = definition_of(id);
  const auto bounds = definition.buckets;
  if (!definition.buckets_end_at_context || context_tokens == 0) return bounds.size();
  const auto end = std::ranges::upper_bound(bounds, static_cast<double>(context_tokens));
  return static_cast<std::size_t>(end - bounds.begin());
}

std::size_t metrics::series(metric id, const metric_labels& labels) {
  const auto same = [&](const metric_series& s) { return s.id == id && s.labels == labels; };
  const auto found = std::ranges::find_if(series_, same);
  if (found != series_.end()) return static_cast<std::size_t>(found - series_.begin());
  metric_series made{.id = id, .labels = labels, .value = 0, .observations = 0, .buckets = {}};
  if (definition_of(id).kind == metric_kind::histogram) {
    made.buckets.resize(bucket_count(id, context_tokens_));
  }
  series_.push_back(std::move(made));
  return series_.size() - 1;
}

std::size_t metrics::series(metric id) {
  auto& known = plain_[static_cast<std::size_t>(id)];
  if (known == 0) known = static_cast<std::uint32_t>(series(id, {})) + 1;
  return known - 1;
}

void metrics::add(std::size_t series, double amount) {
  auto& s = series_.at(series);
  GLIMMER_ASSERT(definition_of(s.id).kind == metric_kind::counter && amount >= 0,
                 "only counters are added to, and they never fall");
  s.value += amount;
}

void metrics::set(std::size_t series, double value) {
  auto& s = series_.at(series);
  GLIMMER_ASSERT(definition_of(s.id).kind == metric_kind::gauge, "only gauges are set");
  s.value = value;
}

void metrics::observe(std::size_t series, double value) {
  observe(series, value, 1);
}

void metrics::observe(std::size_t series, double value, std::uint64_t times) {
  auto& s = series_.at(series);
  const auto& definition = definition_of(s.id);
  GLIMMER_ASSERT(definition.kind == metric_kind::histogram, "only histograms observe");
  const auto bounds = definition.buckets.first(s.buckets.size());
  const auto bucket = std::ranges::lower_bound(bounds, value) - bounds.begin();
  if (static_cast<std::size_t>(bucket) < bounds.size()) {
    s.buckets[static_cast<std::size_t>(bucket)] += times;
  }
  s.observations += times;
  s.value += value * static_cast<double>(times);
}

void metrics::merge(const metrics& other) {
  for (const auto& theirs : other.series_) {
    auto& ours = series_[series(theirs.id, theirs.labels)];
    ours.value += theirs.value;
    ours.observations += theirs.observations;
    GLIMMER_ASSERT(ours.buckets.size() == theirs.buckets.size(),
                   "metrics of one server have one context length");
    for (std::size_t i = 0; i < ours.buckets.size(); ++i) ours.buckets[i] += theirs.buckets[i];
  }
}

}  // namespace glimmer
