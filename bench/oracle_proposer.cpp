#include "bench/oracle_proposer.hpp"

#include "base/random.hpp"

namespace glimmer {

result<draft_result> oracle_proposer::run(const draft_plan& plan) {
  auto answer = inner_->run(plan);
  if (!answer) return answer;
  auto next = answer->sequences.begin();
  for (const auto& rows : plan.sequences) {
    if (rows.drafts == 0) continue;
    auto& drafts = (next++)->tokens;
    const auto known = truth_.find(rows.id);
    if (known == truth_.end()) continue;
    const std::uint64_t anchor = rows.position + rows.count;
    bool right = true;
    for (std::size_t i = 0; i < drafts.size() && anchor + 1 + i < known->second.size(); ++i) {
      const auto draw =
          uniform_draw({.seed = rule_.seed + rows.id.value, .position = anchor * 64 + i});
      right = right && draw < rule_.right;
      const auto token = known->second[anchor + 1 + i];
      drafts[i] = right ? token : token == 0 ? 1 : token - 1;
    }
  }
  return answer;
}

}  // namespace glimmer
