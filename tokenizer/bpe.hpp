#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
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
  /// other models, dropout, prefixes and suffixes of words, and vocabularies that lack one of the
  /// 256 single bytes.
  static result<bpe> from_tokenizer_json(const json& root, const vocabulary& words);

  /// Appends the tokens of `piece`. O(n log n) in its length.
  void encode(std::string_view piece, const vocabulary& words, std::vector<token_id>& out) const;

  /// The rule for a pair; without a rank if there is none.
  merge_rule rule_of(token_id left, token_id right) const;

 private:
  struct slot {
    std::uint64_t pair = no_pair;  // left << 32 | right
    merge_rule rule;
  };
  static constexpr std::uint64_t no_pair = ~std::uint64_t{0};

  result<void> read_merges(const json& merges, const vocabulary& words);
  void reserve(std::size_t count);
  void insert(std::uint64_t pair, merge_rule rule);
  void look_up_byte_pairs();
  merge_rule rule_of_bytes(std::string_view piece, std::size_t at) const;
  void merge_short(std::string_view piece, std::vector<token_id>& out) const;
  void merge_long(std::string_view piece, std::vector<token_id>& out) const;

  std::vector<slot> slots_;            // open addressing, a power of two
  std::vector<std::uint64_t> filter_;  // bits by hash: without its bit a pair has no rule
  std::vector<merge_rule> of_bytes_;   // of two bytes, left << 8 | right
  token_id byte_ids_[256] = {};
  bool ignore_merges_ = false;  // a piece that is a token is taken whole
};

}  // namespace glimmer
