#include "tests/executor/reference_sampler.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace glimmer {
namespace {

bool better(const candidate& a, const candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

}  // namespace

std::vector<candidate> reference_kept(std::span<const float> row, const sampling_params& params) {
  std::vector<candidate> all;
  for (std::size_t i = 0; i < row.size(); ++i) all.push_back({static_cast<token_id>(i), row[i], 0});
  std::sort(all.begin(), all.end(), better);
  const float best = all[0].logit;
  const gather_rule rule{best, 1.0f / params.temperature, 0};
  if (params.min_p > 0)
    std::erase_if(all, [&](const candidate& c) {
      return (c.logit - best) * rule.inverse_temperature < std::log(params.min_p);
    });
  if (params.top_k > 0 && all.size() > static_cast<std::size_t>(params.top_k))
    all.resize(static_cast<std::size_t>(params.top_k));
  const auto sum = weigh(all, rule);
  if (params.top_p < 1) {
    const double enough = static_cast<double>(params.top_p) * static_cast<double>(sum);
    std::uint64_t before = 0;
    std::size_t kept = 0;
    while (kept < all.size() && (kept == 0 || static_cast<double>(before) < enough))
      before += all[kept++].weight;
    all.resize(kept);
  }
  return all;
}

token_id reference_draw(std::span<const float> row, const sampling_params& params,
                        std::uint64_t output_index) {
  auto all = reference_kept(row, params);
  std::sort(all.begin(), all.end(),
            [](const candidate& a, const candidate& b) { return a.token < b.token; });
  std::uint64_t sum = 0;
  for (const auto& c : all) sum += c.weight;
  const double u = uniform_draw({.seed = params.seed, .position = output_index});
  auto target = static_cast<std::uint64_t>(u * static_cast<double>(sum));
  for (const auto& c : all) {
    if (target < c.weight) return c.token;
    target -= c.weight;
  }
  return all.back().token;
}

}  // namespace glimmer
