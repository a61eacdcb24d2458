#include "scheduler/stop.hpp"

#include <algorithm>

namespace glimmer {

namespace {

bool is_end_token(const stop_rules& rules, token_id token) {
  if (std::ranges::binary_search(rules.params->stop_token_ids, token)) return true;
  return !rules.params->ignore_eos && std::ranges::binary_search(rules.end_tokens, token);
}

}  // namespace

std::optional<end_cause> stop_cause(const stop_rules& rules, token_id token,
                                    std::uint32_t output_index) {
  if (output_index >= rules.params->min_tokens && is_end_token(rules, token)) {
    return end_cause::stop_token;
  }
  if (output_index + 1 >= rules.output_max) return end_cause::length;
  return std::nullopt;
}

}  // namespace glimmer
