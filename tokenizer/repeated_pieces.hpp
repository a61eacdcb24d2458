#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "tokenizer/byte_table.hpp"

namespace glimmer {

/// Where pieces of one text have come before: their tokens need not be found again, for they stand
/// in the output. Of two pieces that want one place the later one has it. Belongs to one call.
class repeated_pieces {
 public:
  /// For a text of so many pieces, which must outlive this; a short one is not worth the trouble.
  explicit repeated_pieces(std::size_t pieces)
      : places_(pieces < 64 ? 0 : std::bit_ceil(std::min<std::size_t>(pieces / 4, 1024))) {}

  /// Appends the tokens of `piece` if it is known.
  bool copy(const hashed_bytes& piece, std::vector<token_id>& out) const {
    if (places_.empty()) return false;
    const auto& known = places_[piece.tag >> 4 & (places_.size() - 1)];
    if (known.piece.tag != piece.tag || known.piece.bytes != piece.bytes) return false;
    for (std::size_t i = known.begin; i < known.end; ++i) out.push_back(token_id{out[i]});
    return true;
  }
  /// The tokens of `piece` are the last of `out`, from `begin` on.
  void remember(const hashed_bytes& piece, std::size_t begin, const std::vector<token_id>& out) {
    if (!places_.empty())
      places_[piece.tag >> 4 & (places_.size() - 1)] = {piece, begin, out.size()};
  }

 private:
  struct place {
    hashed_bytes piece;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::vector<place> places_;
};

}  // namespace glimmer
