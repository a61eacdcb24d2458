#include "scheduler/step_builder.hpp"

#include <utility>

#include "base/assert.hpp"

namespace glimmer {

step_builder::step_builder(step_in_flight step, sizes like) : note_{std::move(step)} {
  plan_.id = note_.id;
  plan_.sequences.reserve(like.sequences);
  plan_.tokens.reserve(like.tokens);
  plan_.blocks.reserve(like.blocks);
  note_.rows.reserve(like.sequences);
}

void step_builder::introduce(sequence& s) {
  plan_.started.push_back({.id = s.id, .params = s.params, .prompt = s.prompt, .output = s.output});
  s.on_executor = true;
}

block_table step_builder::add_table(const group_blocks& blocks) {
  const auto begin = static_cast<std::uint32_t>(plan_.blocks.size());
  plan_.blocks.insert(plan_.blocks.end(), blocks.blocks.begin(), blocks.blocks.end());
  return {.begin = begin,
          .count = static_cast<std::uint32_t>(blocks.blocks.size()),
          .first_block = blocks.first_block};
}

void step_builder::add(sequence& s, extent wanted) {
  const auto count = wanted.count;
  GLIMMER_ASSERT(count > 0 && count <= s.pending(), "rows are tokens that are not yet computed");
  GLIMMER_ASSERT(wanted.drafts == 0 || s.pending() == 1, "drafts follow the last token");
  if (!s.on_executor) introduce(s);
  sequence_rows rows;
  rows.id = s.id;
  rows.token_begin = static_cast<std::uint32_t>(plan_.tokens.size());
  rows.count = count + wanted.drafts;
  rows.position = s.computed;
  rows.sample = s.output_max > 0 && count == s.pending();
  rows.drafts = wanted.drafts;
  rows.ahead = wanted.ahead;
  s.copy_tokens(rows.position, count, plan_.tokens);
  plan_.tokens.insert(plan_.tokens.end(), s.drafts.begin(),
                      s.drafts.begin() + std::ptrdiff_t{wanted.drafts});
  s.drafts.clear();
  for (const auto group : all_kv_groups) {
    rows.tables[index_of(group)] = add_table(s.blocks.groups[index_of(group)]);
  }
  plan_.sequences.push_back(rows);
  note_.rows.push_back({.owner = &s,
                        .row = rows.token_begin,
                        .position = rows.position,
                        .count = rows.count,
                        .drafts = rows.drafts,
                        .ahead = rows.ahead,
                        .sample = rows.sample});
  (s.pending() == 1 ? note_.streams : note_.prompt_rows) += count;
  note_.draft_rows += wanted.drafts;
  s.in_step = true;
}

std::pair<step_plan, step_in_flight> step_builder::finish(std::vector<sequence_id> dropped) {
  plan_.dropped = std::move(dropped);
  return {std::move(plan_), std::move(note_)};
}

}  // namespace glimmer
