#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glimmer {

/// A byte-level BPE vocabulary: tokens are byte strings, ids their places.
struct toy_vocabulary {
  std::vector<std::string> tokens;                          ///< 256 bytes, then merged ones
  std::vector<std::pair<std::string, std::string>> merges;  ///< in order of rank
};

/// The 256 bytes in the order of the byte-level alphabet: printable ones first.
std::vector<unsigned char> byte_order();

/// Cuts text roughly as the split pattern does; merges never cross a cut. Exact for ASCII.
std::vector<std::string> cut_words(std::string_view text);

/// Learns up to `merges_max` merges from `text`: the most frequent pair first, ties to the pair of
/// lower ids. Deterministic.
toy_vocabulary train_bpe(std::string_view text, std::size_t merges_max);

/// The text that the synthetic vocabularies are trained on.
std::string_view training_text();

}  // namespace glimmer
