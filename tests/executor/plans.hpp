#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "scheduler/step.hpp"

namespace glimmer {

/// Writes step plans by hand.
class plan_writer {
 public:
  explicit plan_writer(std::uint64_t id = 1) { plan_.id = {id}; }

  plan_writer& start(std::uint64_t id, std::vector<token_id> prompt, sampling_params params = {},
                     std::vector<token_id> output = {}) {
    plan_.started.push_back({{id},
                             std::make_shared<const sampling_params>(std::move(params)),
                             std::make_shared<const std::vector<token_id>>(std::move(prompt)),
                             std::move(output)});
    return *this;
  }

  plan_writer& drop(std::uint64_t id) {
    plan_.dropped.push_back({id});
    return *this;
  }

  struct rows {
    std::uint64_t id = 0;
    std::uint32_t position = 0;
    std::vector<token_id> tokens;
    bool sample = false;
    std::uint32_t drafts = 0;
    std::vector<block_id> full;
    std::vector<block_id> sliding;
    std::uint32_t sliding_first_block = 0;
  };
  plan_writer& add(const rows& r) {
    const auto count = static_cast<std::uint32_t>(r.tokens.size());
    sequence_rows s{.id = {r.id},
                    .token_begin = static_cast<std::uint32_t>(plan_.tokens.size()),
                    .count = count,
                    .position = r.position,
                    .sample = r.sample,
                    .drafts = r.drafts};
    s.tables[0] = table(r.full, 0);
    s.tables[1] = table(r.sliding, r.sliding_first_block);
    plan_.tokens.insert(plan_.tokens.end(), r.tokens.begin(), r.tokens.end());
    plan_.sequences.push_back(s);
    return *this;
  }

  const step_plan& plan() const { return plan_; }

 private:
  block_table table(const std::vector<block_id>& blocks, std::uint32_t first_block) {
    const auto begin = static_cast<std::uint32_t>(plan_.blocks.size());
    plan_.blocks.insert(plan_.blocks.end(), blocks.begin(), blocks.end());
    return {begin, static_cast<std::uint32_t>(blocks.size()), first_block};
  }

  step_plan plan_;
};

}  // namespace glimmer
