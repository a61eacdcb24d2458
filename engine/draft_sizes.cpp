#include "engine/draft_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/drafting.hpp"

namespace glimmer {

draft_sizes draft_sizes_of(const engine_settings& settings, std::uint32_t head_tokens_max) {
  draft_sizes out;
  const auto made_for = std::min(head_tokens_max, draft_tokens_max);
  out.tokens_max = std::min(settings.drafter.tokens_max, made_for);
  if (out.tokens_max < settings.drafter.tokens_max) {
    out.notes.push_back(fmt::format(
        "num_speculative_tokens is {}, but the draft head proposes {} at most: {} it is",
        settings.drafter.tokens_max, made_for, out.tokens_max));
  }
  const auto block = std::uint64_t{out.tokens_max} + 1;
  const auto all = settings.max_num_seqs * block;
  const auto most = std::min(settings.max_num_batched_tokens,
                             std::max(settings.max_num_seqs, verify_rows_useful));
  out.verify_rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(all, most));
  if (out.verify_rows < all) {
    out.notes.push_back(fmt::format(
        "{} rows of a step can be verified: {} sequences with {} drafts each, the others get fewer",
        out.verify_rows, out.verify_rows / block, out.tokens_max));
  }
  return out;
}

}  // namespace glimmer
