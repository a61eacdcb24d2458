#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace glimmer {

/// The stop strings of a request, prepared for matching. Immutable; shared by its choices.
class stop_strings {
 public:
  explicit stop_strings(const std::vector<std::string>& texts);

  struct pattern {
    std::string text;
    std::vector<std::uint32_t> fallback;  ///< longest proper border of each prefix
  };
  const std::vector<pattern>& patterns() const { return patterns_; }

 private:
  std::vector<pattern> patterns_;  // none is empty
};

/// Finds the first stop string in a text that comes in pieces. Holds back the least: the longest
/// end of the text that begins a stop string. The match that is complete first wins, the longest
/// among those that end together. It can be told to let matches pass for a while.
class stop_matcher {
 public:
  enum class keep_match : std::uint8_t { no, yes };
  /// `keep` tells whether the stop string itself is shown.
  stop_matcher(std::shared_ptr<const stop_strings> stops, keep_match keep);

  /// Appends what is certain to be shown. Returns true when a stop string is complete; the rest of
  /// `text` and all later text is dropped.
  bool push(std::string_view text, std::string& shown);
  /// Whether a match that becomes complete counts; one that began earlier may. At first they count.
  void watch(bool on) { watching_ = on; }
  /// The text ends or is interrupted: gives back what is held; no match reaches across.
  void flush(std::string& shown);

  /// There is something to find.
  bool searches() const { return !matched_.empty(); }
  /// The stop string that was found; empty before.
  std::string_view found() const;
  std::size_t held() const { return held_.size(); }

 private:
  bool step(char c);
  std::size_t longest() const;

  std::shared_ptr<const stop_strings> stops_;
  keep_match keep_;
  std::vector<std::uint32_t> matched_;  // bytes of each pattern that end here
  std::string held_;
  bool watching_ = true;
  std::size_t found_ = none;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

}  // namespace glimmer
