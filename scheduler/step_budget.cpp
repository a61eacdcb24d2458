#include "scheduler/step_budget.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace glimmer {

void split_tokens(std::uint32_t budget, std::span<token_demand> demands) {
  GLIMMER_ASSERT(demands.size() <= budget, "every sequence of a step has room for one row");
  auto left = budget;
  std::uint32_t prompts = 0;
  for (auto& demand : demands) {
    GLIMMER_ASSERT(demand.tokens > 0, "a sequence in a step has something to compute");
    demand.granted = 1;
    --left;
    prompts += demand.tokens > 1;
  }
  bool first = true;
  for (auto& demand : demands) {
    if (demand.tokens == 1) continue;
    const auto share = first && prompts > 1 ? left - left / 2 : left / prompts;
    const auto more = std::min(demand.tokens - 1, share);
    demand.granted += more;
    left -= more;
    --prompts;
    first = false;
  }
  for (auto& demand : demands) {
    const auto more = std::min(demand.tokens - demand.granted, left);
    demand.granted += more;
    left -= more;
  }
}

std::uint32_t whole_block_rows(row_bounds range, std::uint32_t block_size) {
  const auto behind = (range.position + range.rows) % block_size;
  return behind < range.rows ? range.rows - behind : range.rows;
}

}  // namespace glimmer
