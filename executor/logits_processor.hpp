#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/sampling_params.hpp"

namespace glimmer {

/// Applies what a client asked of the logits of one sequence, before temperature: allowed tokens,
/// bad words, minimum length, bias, penalties, in this order. Remembers the sequence's tokens as
/// counts; a new token costs O(1). One per sequence, one thread at a time.
class logits_processor {
 public:
  /// `end_tokens` are the model's own; with the params' stop tokens they are what `min_tokens`
  /// holds back.
  logits_processor(std::shared_ptr<const sampling_params> params, std::span<const token_id> prompt,
                   std::span<const token_id> end_tokens);

  /// Takes note of the next output token.
  void accept(token_id token);

  /// Output tokens accepted so far: the index of the next one.
  std::uint64_t output_count() const { return output_count_; }

  /// True when `apply` would change the next row.
  bool active() const;

  /// Changes one row of finite logits [vocab] in place; masked tokens become -inf, all others stay
  /// finite. A restriction that would leave no token at all is lifted for this row. Tokens outside
  /// of the row are passed over.
  ///
  ///     bias        z += b
  ///     repetition  z > 0 ? z / r : z * r          if the token is in prompt or output
  ///     frequency   z -= f * (times in the output)
  ///     presence    z -= p                         if it is in the output
  void apply(std::span<float> row);

 private:
  struct occurrences {
    token_id token = 0;
    std::uint32_t in_output = 0;
  };

  bool has_penalties() const;
  occurrences& entry_of(token_id token);
  void mask_unallowed(std::span<float> row) const;
  void mask_bad_words(std::span<float> row);
  void penalise(std::span<float> row) const;

  std::shared_ptr<const sampling_params> params_;
  std::vector<token_id> end_tokens_;  // sorted
  std::uint64_t output_count_ = 0;
  std::vector<occurrences> seen_;                       // in order of first occurrence
  std::unordered_map<token_id, std::size_t> place_of_;  // into seen_
  std::vector<token_id> output_;                        // kept for bad words only
  std::vector<token_id> scratch_;
};

}  // namespace glimmer
