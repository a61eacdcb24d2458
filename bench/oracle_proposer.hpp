#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "executor/proposer.hpp"

namespace glimmer {

/// Does the work of another proposer and then says something else: the tokens that greedy decoding
/// will give, each slot right with a fixed probability. So a synthetic head costs what it costs and
/// is accepted as often as a trained one. For measuring only.
class oracle_proposer final : public proposer {
 public:
  struct rule {
    double right = 0.7525;  ///< per slot; with 15 drafts a mean of 4 tokens a round
    std::uint64_t seed = 1;
  };
  /// `inner` must outlive this.
  oracle_proposer(proposer& inner, rule r) : inner_{&inner}, rule_{r} {}

  /// Prompt and continuation of a sequence; behind their end the inner proposals stay.
  void teach(sequence_id id, std::vector<token_id> truth) { truth_[id] = std::move(truth); }

  result<draft_result> run(const draft_plan& plan) override;

 private:
  proposer* inner_;
  rule rule_;
  std::unordered_map<sequence_id, std::vector<token_id>> truth_;
};

}  // namespace glimmer
