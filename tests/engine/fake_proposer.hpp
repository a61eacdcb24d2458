#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "executor/proposer.hpp"

namespace glimmer {

/// A proposer that knows how every sequence goes on, from a run without it. Each slot is right with
/// a fixed chance, thrown by sequence and position: not by who else drafts.
class fake_proposer final : public proposer {
 public:
  using truths =
      std::map<std::uint64_t, std::vector<token_id>>;  ///< prompt and output, by sequence
  struct options {
    std::uint32_t right_percent = 100;
    token_id vocab = 64;
    std::uint64_t failing_every = 0;  ///< so many plans fail; 0: none
    bool silent = false;              ///< proposes nothing at all
  };
  fake_proposer(truths known, const options& with) : truths_{std::move(known)}, with_{with} {}

  result<draft_result> run(const draft_plan& plan) override;

 private:
  truths truths_;
  options with_;
  std::uint64_t plans_ = 0;
};

}  // namespace glimmer
