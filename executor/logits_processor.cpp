#include "executor/logits_processor.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace glimmer {
namespace {

constexpr float masked = -std::numeric_limits<float>::infinity();

bool inside(token_id token, std::span<const float> row) {
  return token >= 0 && static_cast<std::size_t>(token) < row.size();
}

float& at(std::span<float> row, token_id token) {
  return row[static_cast<std::size_t>(token)];
}

/// Keeps a logit that was finite finite, however extreme the client's numbers are.
float bounded(float logit) {
  constexpr float limit = std::numeric_limits<float>::max();
  return std::clamp(logit, -limit, limit);
}

/// Whether any token is left when `tokens` (sorted) go. Nearly always the first one answers.
bool leaves_any(std::span<const float> row, std::span<const token_id> tokens) {
  for (std::size_t i = 0; i < row.size(); ++i)
    if (row[i] > masked &&
        !std::binary_search(tokens.begin(), tokens.end(), static_cast<token_id>(i)))
      return true;
  return false;
}

void mask(std::span<float> row, std::span<const token_id> tokens) {
  if (!leaves_any(row, tokens)) return;
  for (const auto token : tokens)
    if (inside(token, row)) at(row, token) = masked;
}

void sort_unique(std::vector<token_id>& tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

}  // namespace

logits_processor::logits_processor(std::shared_ptr<const sampling_params> params,
                                   std::span<const token_id> prompt,
                                   std::span<const token_id> end_tokens)
    : params_{std::move(params)} {
  if (params_->min_tokens > 0) {
    end_tokens_.assign(end_tokens.begin(), end_tokens.end());
    end_tokens_.insert(end_tokens_.end(), params_->stop_token_ids.begin(),
                       params_->stop_token_ids.end());
    sort_unique(end_tokens_);
  }
  if (params_->repetition_penalty != 1.0f)
    for (const auto token : prompt) entry_of(token);
}

void logits_processor::accept(token_id token) {
  ++output_count_;
  if (has_penalties()) ++entry_of(token).in_output;
  if (!params_->bad_words.empty()) output_.push_back(token);
}

bool logits_processor::active() const {
  return has_penalties() || !params_->logit_bias.empty() || !params_->allowed_token_ids.empty() ||
         !params_->bad_words.empty() || output_count_ < params_->min_tokens;
}

bool logits_processor::has_penalties() const {
  return params_->repetition_penalty != 1.0f || params_->frequency_penalty != 0.0f ||
         params_->presence_penalty != 0.0f;
}

logits_processor::occurrences& logits_processor::entry_of(token_id token) {
  const auto [place, is_new] = place_of_.try_emplace(token, seen_.size());
  if (is_new) seen_.push_back({token, 0});
  return seen_[place->second];
}

void logits_processor::apply(std::span<float> row) {
  mask_unallowed(row);
  mask_bad_words(row);
  if (output_count_ < params_->min_tokens) mask(row, end_tokens_);
  for (const auto& [token, bias] : params_->logit_bias)
    if (inside(token, row) && at(row, token) > masked)
      at(row, token) = bounded(at(row, token) + bias);
  if (has_penalties()) penalise(row);
}

void logits_processor::mask_unallowed(std::span<float> row) const {
  const auto& allowed = params_->allowed_token_ids;
  const auto is_open = [&](token_id t) {
    return inside(t, row) && row[static_cast<std::size_t>(t)] > masked;
  };
  if (std::none_of(allowed.begin(), allowed.end(), is_open)) return;  // also when there is no list
  auto next = allowed.begin();
  for (std::size_t i = 0; i < row.size(); ++i) {
    while (next != allowed.end() && *next < static_cast<token_id>(i)) ++next;
    if (next == allowed.end() || *next != static_cast<token_id>(i)) row[i] = masked;
  }
}

void logits_processor::mask_bad_words(std::span<float> row) {
  scratch_.clear();
  for (const auto& word : params_->bad_words) {
    if (word.empty() || word.size() - 1 > output_.size()) continue;
    if (std::equal(word.begin(), word.end() - 1, output_.end() - (std::ssize(word) - 1)))
      scratch_.push_back(word.back());
  }
  if (scratch_.empty()) return;
  sort_unique(scratch_);
  mask(row, scratch_);
}

void logits_processor::penalise(std::span<float> row) const {
  const float repetition = params_->repetition_penalty;
  for (const auto& [token, in_output] : seen_) {
    if (!inside(token, row) || at(row, token) == masked) continue;
    float logit = at(row, token);
    logit = bounded(logit > 0 ? logit / repetition : logit * repetition);
    if (in_output > 0) {
      logit -= params_->frequency_penalty * static_cast<float>(in_output);
      logit -= params_->presence_penalty;
    }
    at(row, token) = bounded(logit);
  }
}

}  // namespace glimmer
