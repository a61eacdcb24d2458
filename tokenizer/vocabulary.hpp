#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "tokenizer/byte_table.hpp"

namespace glimmer {

/// The special tokens that give a prompt its shape. A vocabulary without one of them is refused.
enum class control_token : std::uint8_t {
  begin_of_text,
  end_of_text,
  eom,      ///< end of message, the turn goes on
  eot,      ///< end of turn
  start,    ///< opens a header
  message,  ///< ends a header, the body follows
  image_start,
  image_end,
  vid_start,
  vid_end,
  vid_frame_separator,
  video,  ///< video placeholder and patch
  patch,  ///< image placeholder and patch
};
constexpr std::size_t control_token_count = 13;

/// E.g. "<|eot|>".
std::string_view spelling(control_token which);

/// Token ids and what they stand for: base tokens are raw bytes, special tokens are structure and
/// only have a spelling. Immutable after load; any thread may read.
class vocabulary {
 public:
  /// Reads `model.vocab` and `added_tokens` of a tokenizer.json. Base tokens are decoded from the
  /// byte-level alphabet; every added token counts as special. Refuses repeated or absurd ids and
  /// a vocabulary without one of the control tokens.
  static result<vocabulary> from_tokenizer_json(const json& root);

  /// Highest id + 1. Ids without a token may lie below.
  std::size_t size() const { return entries_.size(); }
  bool contains(token_id id) const;
  bool is_special(token_id id) const;

  /// Raw bytes of a base token, seldom whole characters; empty for special and unused ids.
  std::string_view bytes(token_id id) const;
  /// Spelling of a special token; empty for base and unused ids.
  std::string_view special_spelling(token_id id) const;

  /// The base token with exactly these bytes.
  std::optional<token_id> find(const hashed_bytes& raw) const;
  std::optional<token_id> find(std::string_view raw) const { return find(hashed_bytes{raw}); }
  /// Says that these will be looked up soon.
  void fetch(const hashed_bytes& raw) const { by_bytes_.fetch(raw); }
  /// The special token with exactly this spelling. Never used on text from outside.
  std::optional<token_id> find_special(std::string_view text) const;
  token_id id(control_token which) const { return control_ids_[static_cast<std::size_t>(which)]; }
  /// All special ids, ascending.
  const std::vector<token_id>& special_ids() const { return special_ids_; }

 private:
  // Short texts lie in the entry: one place in memory to wait for instead of two.
  struct entry {
    struct far {
      std::uint32_t begin = 0;  // into arena_
      std::uint32_t length = 0;
    };
    static constexpr std::uint8_t inline_max = 14;
    static constexpr std::uint8_t is_far = 255;

    std::array<char, inline_max> text{};  // or the bytes of a `far`
    std::uint8_t length = 0;              // or `is_far`
    enum class kind : std::uint8_t { unused, base, special } what = kind::unused;
  };
  static_assert(sizeof(entry) == 16);

  result<void> add_base_tokens(const json& vocab);
  result<void> add_special_tokens(const json& added);
  result<void> place(token_id id, std::string_view text, entry::kind what);
  result<void> look_up_control_tokens();
  std::string_view text(const entry& e) const;
  std::string_view text_if(token_id id, entry::kind what) const;

  std::string arena_;           // long texts
  std::vector<entry> entries_;  // by id
  std::vector<token_id> special_ids_;
  byte_table by_bytes_;     // base tokens only
  byte_table by_spelling_;  // special tokens only
  std::array<token_id, control_token_count> control_ids_{};
};

/// Bytes behind a word of the byte-level alphabet, in which every byte is a printable letter (a
/// blank is U+0120); nullopt if `word` has other letters.
std::optional<std::string> decode_byte_level(std::string_view word);

/// "Your tokenizer has this and we cannot serve it": what every reader in this room fails with.
error unsupported_tokenizer(std::string_view part, std::string why);

}  // namespace glimmer
