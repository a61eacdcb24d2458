#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace glimmer {

/// Where the pieces of a text end, ascending; the last is the text's size. Empty for empty text.
using piece_ends = std::vector<std::uint32_t>;

/// Cuts text into the pieces that merges never cross. Immutable and safe for any thread.
class splitter {
 public:
  virtual ~splitter() = default;
  /// Cuts each of the `pieces` of `text` on its own, without looking beyond its borders, and
  /// appends the ends of the new pieces to `out`. `text` is UTF-8; broken bytes are kept, in
  /// pieces of the splitter's choice.
  virtual result<void> split(std::string_view text, const piece_ends& pieces,
                             piece_ends& out) const = 0;
};

/// The `pre_tokenizer` of a tokenizer.json: one or more splits by regular expression. Immutable
/// after load; any thread may read.
class pretokenizer {
 public:
  /// Accepts Split (regex, isolated, not inverted), ByteLevel (without its own regex and without
  /// prefix space), a Sequence of these, and null; anything else is refused by name.
  static result<pretokenizer> from_tokenizer_json(const json& pre_tokenizer);

  /// Pieces of `text`, which must be UTF-8 and shorter than 4 GiB.
  result<piece_ends> split(std::string_view text) const;

 private:
  result<void> add(const json& node);
  result<void> add_split(const json& node);

  std::vector<std::shared_ptr<const splitter>> steps_;
};

/// The splitter for a pattern: hand-written where the pattern is the public o200k one, else PCRE2.
result<std::shared_ptr<const splitter>> make_splitter(std::string_view pattern);

}  // namespace glimmer
