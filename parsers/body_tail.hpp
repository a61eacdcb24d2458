#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glimmer {

/// Watches the end of a reasoning or content body for what must not be shown yet: a bare header
/// `to=NAME` at the start of the body or behind a blank (whether it is one shows when
/// `<|message|>` arrives), and the first bytes of call markup. Holds at most 256 bytes.
class body_tail {
 public:
  struct watch {
    bool headers = false;
    bool openers = false;  ///< `<atem:function_calls>` and `<atem:invoke`
  };
  body_tail() = default;
  explicit body_tail(watch what) : watch_{what} {}

  /// Appends to `shown` what `text` makes certain, keeps the rest. Returns how many bytes it took:
  /// all, unless call markup was completed (`opener`), which then is what is held.
  std::size_t take(std::string_view text, std::string& shown);

  /// Call markup begins with what is held.
  bool opener() const { return state_ == state::opener_found; }
  /// The recipient, if a bare header would end here.
  std::optional<std::string_view> recipient() const;

  bool empty() const { return held_.empty(); }
  std::string_view held() const { return held_; }
  /// Gives up what is held and watches on.
  std::string release();

 private:
  enum class state : std::uint8_t {
    free,
    word,
    before_name,
    name,
    behind_name,
    opener,
    opener_found
  };

  bool extend(char c);
  bool extend_opener(char c);
  bool begin(char c);

  watch watch_;
  state state_ = state::free;
  bool anchored_ = true;  // a header may begin here
  std::size_t name_begin_ = 0;
  std::size_t name_end_ = 0;
  std::string held_;
};

}  // namespace glimmer
