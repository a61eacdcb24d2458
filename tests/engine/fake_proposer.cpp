#include "tests/engine/fake_proposer.hpp"

#include "base/assert.hpp"
#include "base/random.hpp"

namespace glimmer {

result<draft_result> fake_proposer::run(const draft_plan& plan) {
  ++plans_;
  if (with_.failing_every > 0 && plans_ % with_.failing_every == 0) {
    return fail({error_kind::device, "device_lost", "", "The head did not answer."});
  }
  draft_result out{.id = plan.id, .sequences = {}};
  for (const auto& rows : plan.sequences) {
    if (rows.drafts == 0 || with_.silent) continue;
    const auto& truth = truths_.at(rows.id.value);
    const auto anchor = rows.position + rows.count;
    GLIMMER_ASSERT(anchor < truth.size() && truth[anchor] == rows.anchor,
                   "the anchor is the token that was sampled last");
    auto& tokens = out.sequences.emplace_back(sequence_drafts{.id = rows.id, .tokens = {}}).tokens;
    for (auto at = anchor + 1; at <= anchor + rows.drafts; ++at) {
      const auto right = at < truth.size() ? truth[at] : 0;
      const auto thrown = philox4x32({at, static_cast<std::uint32_t>(rows.id.value), 0, 0}, {7, 7});
      tokens.push_back(thrown[0] % 100 < with_.right_percent ? right : (right + 1) % with_.vocab);
    }
  }
  return out;
}

}  // namespace glimmer
