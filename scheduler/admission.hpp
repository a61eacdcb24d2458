#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "scheduler/scheduler_config.hpp"
#include "scheduler/sequence_request.hpp"

namespace glimmer {

/// What already waits when a request arrives.
struct queue_load {
  std::uint64_t tokens = 0;
  std::uint64_t sequences = 0;
  friend bool operator==(const queue_load&, const queue_load&) = default;
};

/// Whether a request fits the context and the pools at all, and the queue now. Pure arithmetic;
/// a refusal names the numbers.
///
/// A sequence never computes its last output token, so prompt p and output n take p + n - 1
/// positions of KV; the longest output is cut to that, and to max_model_len - p.
class admission_rules {
 public:
  /// `positions_max`: KV positions one sequence can hold with the pools for itself.
  admission_rules(const scheduler_config& config, std::uint64_t positions_max);

  result<admission> check(const sequence_request& request, queue_load load) const;

 private:
  result<std::uint32_t> output_max(const sequence_request& request) const;

  std::uint32_t max_model_len_;
  std::uint64_t positions_max_;
  queue_load queue_max_;
};

}  // namespace glimmer
