#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "tokenizer/repeated_pieces.hpp"
#include "tokenizer/vocabulary.hpp"

namespace glimmer {

/// What two neighbouring tokens become, and how early.
struct merge_rule {
  static constexpr std::uint32_t no_rank = ~std::uint32_t{0};

  std::uint32_t rank = no_rank;  ///< lower is sooner; `no_rank`: they are never merged
  token_id product = 0;
};

/// Byte pair encoding of one piece: of all neighbouring pairs the one with the lowest rank is
/// merged, the leftmost first among equals, until no pair has a rank. Immutable after load.
class bpe {
 public:
  /// Reads `model` of a tokenizer.json: `merges` as "a b" or ["a", "b"], `ignore_merges`. Refuses
  /// other models, dropout, prefixes and suffixes of words, vocabularies that lack one of the 256
  /// single bytes, and more than four million tokens or one million merges.
  static result<bpe> from_tokenizer_json(const json& root, const vocabulary& words);

  /// Appends the tokens of `piece`. O(n log n) in its length. What is merged is remembered in
  /// `before`, whose pieces have their tokens in `out`.
  void encode(const hashed_bytes& piece, const vocabulary& words, repeated_pieces& before,
              std::vector<token_id>& out) const;

  /// The rule for a pair; without a rank if there is none.
  merge_rule rule_of(token_id left, token_id right) const;

 private:
  result<void> read_merges(const json& merges, const vocabulary& words);
  void reserve(std::size_t count);
  void insert(std::uint64_t pair, std::uint32_t rank);
  void look_up_byte_pairs();
  std::uint32_t rank_of(token_id left, token_id right) const;
  std::uint32_t rank_of_bytes(std::string_view piece, std::size_t at) const;
  void merge_short(std::string_view piece, std::vector<token_id>& out) const;
  void merge_long(std::string_view piece, std::vector<token_id>& out) const;

  // Open addressing, a power of two. A slot is 22 bits of each token and 20 of the rank: the table
  // is larger than the near caches, and nothing else costs as much as to wait for it.
  std::vector<std::uint64_t> slots_;
  std::vector<std::uint64_t> filter_;         // bits by hash: without its bit a pair has no rule
  std::vector<token_id> products_;            // by rank
  std::vector<std::uint32_t> rank_of_bytes_;  // of two bytes, left << 8 | right
  token_id byte_ids_[256] = {};
  bool ignore_merges_ = false;  // a piece that is a token is taken whole
};

}  // namespace glimmer
