#include "tests/simulation/fake_executor.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "tests/simulation/dice.hpp"

namespace glimmer {

std::uint64_t content_after(std::uint64_t content, token_id token) {
  return mix(content ^ mix(static_cast<std::uint64_t>(token) + 1));
}

token_id babble(const sampling_params&, next_word next) {
  return static_cast<token_id>(next.chance % 64);
}

token_id token_after(std::uint64_t content, const sampling_params& params,
                     std::uint32_t output_index, const voice& says) {
  return says(params, {mix(content ^ mix(params.seed) ^ output_index), output_index});
}

std::vector<token_id> solo_stream(const std::vector<token_id>& prompt,
                                  const sampling_params& params, std::uint32_t count,
                                  const voice& says) {
  std::uint64_t content = 0;
  for (const auto token : prompt) content = content_after(content, token);
  std::vector<token_id> output;
  while (output.size() < count) {
    output.push_back(token_after(content, params, static_cast<std::uint32_t>(output.size()), says));
    content = content_after(content, output.back());
  }
  return output;
}

fake_executor::fake_executor(const scheduler_config& config, voice says)
    : config_{config}, says_{std::move(says)} {
  restart();
}

void fake_executor::restart() {
  for (std::size_t g = 0; g < kv_group_count; ++g) {
    kv_[g].assign(std::size_t{config_.blocks[g]} * config_.block_size, 0);
  }
  samplers_.clear();
}

const std::vector<token_id>* fake_executor::tokens_of(sequence_id id) const {
  const auto at = samplers_.find(id);
  return at == samplers_.end() ? nullptr : &at->second.tokens;
}

std::vector<token_id> fake_executor::continuation(sequence_id id, std::uint32_t count) const {
  auto s = samplers_.at(id);
  sequence_tokens got;
  for (std::uint32_t i = 0; i < count; ++i) sample(s, got);
  return got.tokens;
}

void fake_executor::complain(const sequence_rows& rows, const std::string& what) {
  if (!complaint_.empty()) return;
  complaint_ = "step " + std::to_string(steps_) + ", sequence " + std::to_string(rows.id.value) +
               ", rows [" + std::to_string(rows.position) + ", +" + std::to_string(rows.count) +
               "): " + what;
}

void fake_executor::append(sampler& s, token_id token) const {
  s.contents.push_back(content_after(s.contents.empty() ? 0 : s.contents.back(), token));
  s.tokens.push_back(token);
}

void fake_executor::meet(const step_plan& plan) {
  for (const auto id : plan.dropped) {
    if (samplers_.erase(id) == 0) complain({.id = id}, "dropped, but never started");
  }
  for (const auto& start : plan.started) {
    const auto [at, is_new] = samplers_.try_emplace(start.id);
    if (!is_new) complain({.id = start.id}, "started twice");
    auto& s = at->second;
    s = {.params = start.params, .prompt_size = static_cast<std::uint32_t>(start.prompt->size())};
    for (const auto token : *start.prompt) append(s, token);
    for (const auto token : start.output) append(s, token);
  }
}

void fake_executor::copy(const kv_block_copy& copy) {
  auto& kv = kv_[static_cast<std::size_t>(copy.group)];
  const auto from = kv.begin() + std::ptrdiff_t{copy.from} * config_.block_size;
  const auto to = kv.begin() + std::ptrdiff_t{copy.to} * config_.block_size;
  std::copy(from, from + config_.block_size, to);
}

step_result fake_executor::run(const step_plan& plan) {
  ++steps_;
  written_.clear();
  meet(plan);
  if (plan.tokens.size() > config_.max_num_batched_tokens) complain({}, "too many rows");
  if (plan.sequences.size() > config_.max_num_seqs) complain({}, "too many sequences");
  if (plan.sequences.empty()) complain({}, "a step without rows");
  for (const auto& one : plan.copies) copy(one);
  step_result result{.id = plan.id, .sequences = {}};
  for (const auto& rows : plan.sequences) result.sequences.push_back(run_rows(plan, rows));
  return result;
}

std::optional<std::size_t> fake_executor::cell(const step_plan& plan, const block_table& table,
                                               std::uint32_t position) const {
  const auto block = position / config_.block_size;
  if (block < table.first_block || block - table.first_block >= table.count) return std::nullopt;
  const auto id = plan.blocks[table.begin + block - table.first_block];
  return static_cast<std::size_t>(id) * config_.block_size + position % config_.block_size;
}

sequence_tokens fake_executor::run_rows(const step_plan& plan, const sequence_rows& rows) {
  sequence_tokens got{.id = rows.id};
  const auto known = samplers_.find(rows.id);
  if (known == samplers_.end()) {
    complain(rows, "has rows, but was never started");
    return got;
  }
  auto& s = known->second;
  const auto end = rows.position + rows.count - rows.drafts;
  const auto tokens = s.tokens.size();
  if (end > tokens || (rows.drafts > 0 && end < tokens)) {
    complain(rows, "has rows of tokens that nobody knows");
    return got;
  }
  const auto drafts =
      std::span{plan.tokens}.subspan(rows.token_begin + rows.count - rows.drafts, rows.drafts);
  for (const auto draft : drafts) append(s, draft);
  for (std::uint32_t i = 0; i < rows.count; ++i) run_row(plan, rows, i);
  s.tokens.resize(tokens);
  s.contents.resize(tokens);
  const bool at_end = end == tokens;
  if (rows.sample && !at_end) complain(rows, "samples in the middle of its tokens");
  if (!at_end && rows.count == 0) complain(rows, "has no rows");
  if (s.params->prompt_logprobs) {
    for (auto p = rows.position + 1; p < std::min(rows.position + rows.count + 1, s.prompt_size);
         ++p) {
      got.prompt_logprobs.push_back({.token = s.tokens[p], .logprob = -float(p), .top = {}});
    }
  }
  if (!rows.sample) return got;
  const auto more = mix(steps_ ^ rows.id.value) % (rows.ahead + 1);
  sample(s, got);
  for (const auto draft : drafts) {
    if (got.tokens.back() != draft) return got;
    sample(s, got);
  }
  for (std::uint32_t i = 0; i < more; ++i) {
    write(plan, rows, rows.position + rows.count + i);
    sample(s, got);
  }
  return got;
}

void fake_executor::sample(sampler& s, sequence_tokens& got) const {
  const auto index = static_cast<std::uint32_t>(s.tokens.size()) - s.prompt_size;
  const auto token = token_after(s.contents.back(), *s.params, index, says_);
  got.tokens.push_back(token);
  if (s.params->logprobs) {
    got.logprobs.push_back({.token = token, .logprob = -float(index), .top = {}});
  }
  append(s, token);
}

void fake_executor::run_row(const step_plan& plan, const sequence_rows& rows, std::uint32_t at) {
  ++rows_;
  const auto& s = samplers_.at(rows.id);
  const auto position = rows.position + at;
  if (plan.tokens[rows.token_begin + at] != s.tokens[position]) complain(rows, "wrong token");
  write(plan, rows, position);
}

/// Computes the KV of one known position, looking at every cell that it attends to.
void fake_executor::write(const step_plan& plan, const sequence_rows& rows,
                          std::uint32_t position) {
  const auto& s = samplers_.at(rows.id);
  for (std::size_t g = 0; g < kv_group_count; ++g) {
    const auto own = cell(plan, rows.tables[g], position);
    if (!own) return complain(rows, "no block for its own row in group " + std::to_string(g));
    if (!written_.insert(*own * kv_group_count + g).second) complain(rows, "a cell written twice");
    kv_[g][*own] = s.contents[position];
    const bool slides = g == static_cast<std::size_t>(kv_group::sliding);
    const auto first = slides && position + 1 > config_.window ? position + 1 - config_.window : 0;
    for (auto key = first; key < position; ++key) {
      const auto seen = cell(plan, rows.tables[g], key);
      if (!seen || kv_[g][*seen] != s.contents[key]) {
        return complain(rows, std::string{seen ? "wrong KV" : "no block"} + " at position " +
                                  std::to_string(key) + " of group " + std::to_string(g));
      }
    }
  }
}

}  // namespace glimmer
