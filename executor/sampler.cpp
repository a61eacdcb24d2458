#include "executor/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.hpp"
#include "base/random.hpp"

namespace glimmer {
namespace {

constexpr float weightless_below = -30.0f;  // exp(-30) * weight_one < 1

/// The token at which `target`, a place in [0, sum of weights), falls.
token_id walk(std::span<const candidate> all, std::uint64_t target) {
  for (const auto& c : all) {
    if (target < c.weight) return c.token;
    target -= c.weight;
  }
  GLIMMER_ASSERT(false, "the target lies below the sum of the weights");
  return 0;
}

/// `share` of a sum of weights, as a whole number in [1, sum].
std::uint64_t part_of(std::uint64_t sum, float share) {
  const auto part = std::ceil(static_cast<double>(share) * static_cast<double>(sum));
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(part), 1, sum);
}

std::uint64_t sum_of_weights(std::span<const candidate> all) {
  std::uint64_t sum = 0;
  for (const auto& c : all) sum += c.weight;
  return sum;
}

bool better(const candidate& a, const candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

}  // namespace

std::optional<token_id> sampler::draw(std::span<const float> row, const sampling_params& params,
                                      std::uint64_t output_index) {
  const auto maximum = row_maximum(row);
  if (!maximum) return std::nullopt;
  if (params.temperature < greedy_below) return lowest_argmax(row, *maximum);

  const float min_p_floor = params.min_p > 0 ? std::log(params.min_p) : weightless_below;
  const gather_rule rule{*maximum, 1.0f / params.temperature,
                         std::max(min_p_floor, weightless_below)};
  if (params.top_k > 0) {
    gather_best(candidates_, row, rule, static_cast<std::size_t>(params.top_k));
  } else {
    gather(candidates_, row, rule);
  }
  auto sum = weigh(candidates_, rule);
  if (params.top_p < 1) {
    keep_heaviest(candidates_, part_of(sum, params.top_p));
    sum = sum_of_weights(candidates_);
  }
  const auto draw = uniform_draw({.seed = params.seed, .position = output_index});
  const auto target = static_cast<std::uint64_t>(draw * static_cast<double>(sum));
  return walk(candidates_, std::min(target, sum - 1));
}

token_logprob sampler::logprob_of(std::span<const float> row, token_id chosen, std::uint32_t top) {
  const auto maximum = row_maximum(row);
  GLIMMER_ASSERT(maximum.has_value(), "a broken row has no probabilities");
  const auto sum = static_cast<double>(row_weight(row, *maximum));
  const auto log_sum = std::log(sum / static_cast<double>(weight_one));
  const auto logprob = [&](float logit) {
    return static_cast<float>(static_cast<double>(logit) - *maximum - log_sum);
  };

  token_logprob out{.token = chosen, .logprob = logprob(row[static_cast<std::size_t>(chosen)])};
  if (top == 0) return out;
  gather_best(candidates_, row, {*maximum, 1.0f, -std::numeric_limits<float>::infinity()}, top);
  std::sort(candidates_.begin(), candidates_.end(), better);
  out.top.reserve(candidates_.size());
  for (const auto& c : candidates_) out.top.emplace_back(c.token, logprob(c.logit));
  return out;
}

}  // namespace glimmer
