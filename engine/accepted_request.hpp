#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/limits.hpp"
#include "base/request.hpp"
#include "engine/request_preparer.hpp"

namespace glimmer {

/// A request that was read, validated and tokenised: everything that later rooms need of it.
struct accepted_request {
  request_id request;
  std::string answer_id;  ///< "chatcmpl-..." or "cmpl-..."
  time_point arrived;
  unix_seconds created = 0;
  response_options response;
  std::vector<prepared_request> prompts;  ///< a chat has one
  std::int32_t priority = 0;
  std::string fairness_key;
  std::string cache_salt;
};

/// Choices of one request, prompt by prompt, are numbered sequences: ids are unique as long as
/// request ids are.
constexpr std::uint32_t choice_bits = 12;
static_assert(limits{}.sequences <= 1u << choice_bits);

constexpr sequence_id sequence_of(request_id request, std::uint32_t choice) {
  return {request.value << choice_bits | choice};
}
constexpr std::uint32_t choice_of(sequence_id sequence) {
  return static_cast<std::uint32_t>(sequence.value & ((1u << choice_bits) - 1));
}

}  // namespace glimmer
