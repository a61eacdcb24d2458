#include "tests/simulation/fake_drafter.hpp"

#include <algorithm>

namespace glimmer {

namespace {

constexpr std::uint64_t never_written = 0xdead;

std::vector<std::uint64_t> contents_of(const std::vector<token_id>& tokens) {
  std::vector<std::uint64_t> out;
  for (const auto token : tokens) out.push_back(content_after(out.empty() ? 0 : out.back(), token));
  return out;
}

}  // namespace

fake_drafter::fake_drafter(const scheduler_config& config, const temper& mood, std::uint64_t seed)
    : config_{config}, mood_{mood}, chance_{seed} {
  restart();
}

void fake_drafter::restart() {
  const auto blocks = config_.blocks[static_cast<std::size_t>(kv_group::sliding)];
  cells_.assign(std::size_t{blocks} * config_.block_size, never_written);
}

void fake_drafter::complain(const draft_rows& rows, const std::string& what) {
  if (!complaint_.empty()) return;
  complaint_ = "drafts after step " + std::to_string(step_.id.value) + ", sequence " +
               std::to_string(rows.id.value) + ", rows [" + std::to_string(rows.position) + ", +" +
               std::to_string(rows.count) + "): " + what;
}

void fake_drafter::follow(const step_plan& step) {
  step_ = step;
  for (const auto& copy : step.copies) {
    if (copy.group != kv_group::sliding) continue;
    const auto from = cells_.begin() + std::ptrdiff_t{copy.from} * config_.block_size;
    const auto to = cells_.begin() + std::ptrdiff_t{copy.to} * config_.block_size;
    std::copy(from, from + config_.block_size, to);
  }
}

std::uint64_t* fake_drafter::cell(const draft_plan& plan, const draft_rows& rows,
                                  std::uint32_t position) {
  const auto block = position / config_.block_size;
  const auto& table = rows.table;
  if (block < table.first_block || block - table.first_block >= table.count) return nullptr;
  const auto id = plan.blocks[table.begin + block - table.first_block];
  return &cells_[static_cast<std::size_t>(id) * config_.block_size + position % config_.block_size];
}

draft_result fake_drafter::run(const draft_plan& plan, const fake_executor& target, bool judged) {
  draft_result out{.id = plan.id, .sequences = {}};
  if (judged && plan.id != step_.id) complain({}, "a plan about another step");
  if (plan.sequences.empty()) complain({}, "a plan about nobody");
  std::vector<std::vector<token_id>> tokens;
  for (const auto& rows : plan.sequences) {
    const auto* known = target.tokens_of(rows.id);
    tokens.push_back(known ? *known : std::vector<token_id>{});
    if (judged && !known) complain(rows, "nobody knows it");
    if (known) write(plan, rows, tokens.back());
  }
  for (std::size_t i = 0; judged && i < plan.sequences.size(); ++i) {
    const auto& rows = plan.sequences[i];
    if (rows.drafts == 0) continue;
    look(plan, rows, tokens[i]);
    out.sequences.push_back({.id = rows.id, .tokens = propose(rows, target)});
  }
  return out;
}

// The residuals of row r belong to the token that the step had there: it must be committed.
void fake_drafter::write(const draft_plan& plan, const draft_rows& rows,
                         const std::vector<token_id>& tokens) {
  const auto contents = contents_of(tokens);
  for (std::uint32_t i = 0; i < rows.count; ++i) {
    const auto position = rows.position + i;
    auto* mine = cell(plan, rows, position);
    if (!mine) return complain(rows, "no block for a context row");
    if (position >= tokens.size()) return complain(rows, "a context row of no token");
    if (plan.id == step_.id) {
      const auto at = std::ranges::find(step_.sequences, rows.id, &sequence_rows::id);
      if (at == step_.sequences.end()) return complain(rows, "had no rows in the step");
      const auto offset = rows.row + i - at->token_begin;
      if (offset >= at->count || at->position + offset != position) {
        return complain(rows, "a context row from somebody else's row");
      }
      if (step_.tokens[rows.row + i] != tokens[position]) {
        return complain(rows, "a context row of a rejected draft");
      }
    }
    *mine = contents[position];
  }
}

void fake_drafter::look(const draft_plan& plan, const draft_rows& rows,
                        const std::vector<token_id>& tokens) {
  const auto anchor = rows.position + rows.count;
  if (anchor + 1 != tokens.size()) return complain(rows, "the anchor is not the last token");
  if (rows.anchor != tokens[anchor]) return complain(rows, "wrong anchor");
  if (rows.drafts > config_.drafting.tokens_max) return complain(rows, "too many drafts");
  if (rows.valid_from > rows.position) return complain(rows, "new rows are masked");
  const auto contents = contents_of(tokens);
  const auto window_begin = anchor - std::min(anchor, config_.window);
  in_reach_ += anchor - window_begin;
  for (auto p = std::max(window_begin, rows.valid_from); p < anchor; ++p, ++seen_) {
    const auto* seen = cell(plan, rows, p);
    if (!seen || *seen != contents[p]) {
      return complain(rows, std::string{!seen                    ? "no block for"
                                        : *seen == never_written ? "never written:"
                                                                 : "wrong"} +
                                " context row " + std::to_string(p));
    }
  }
}

std::vector<token_id> fake_drafter::propose(const draft_rows& rows, const fake_executor& target) {
  auto out = target.continuation(rows.id, rows.drafts);
  bool right = true;
  for (auto& token : out) {
    right = right && chance_.percent(mood_.right_percent);
    if (!right) token = (token + 1) % config_.drafting.vocab_size;
    if (chance_.percent(mood_.absurd_percent)) {
      token = chance_.percent(50) ? -1 : config_.drafting.vocab_size;
    }
  }
  return out;
}

}  // namespace glimmer
