#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glimmer {

/// What one streamed answer brought and when, in seconds from its request. Fed the lines of the
/// event stream of a chat or a completion.
class answer_record {
 public:
  /// One line of the body at time `now`.
  void line(std::string_view text, double now);
  /// The answer is over: `ok` if status and framing were right.
  void end(bool ok, double now);

  bool ok() const { return ok_; }
  double first_token() const { return times_.empty() ? 0 : times_.front(); }
  double whole() const { return whole_; }
  /// Between neighbouring pieces.
  std::vector<double> gaps() const;
  /// What `usage` says, or the pieces counted when it says nothing.
  std::size_t tokens() const { return usage_.value_or(times_.size()); }
  /// Seconds a token behind the first; nothing for answers of one token.
  std::optional<double> per_token() const;
  /// What the server said that was no event: the sentence of a refusal.
  const std::string& complaint() const { return complaint_; }

 private:
  std::vector<double> times_;  ///< of pieces with content
  std::optional<std::size_t> usage_;
  double whole_ = 0;
  bool ok_ = false;
  bool done_ = false;
  std::string complaint_;
};

}  // namespace glimmer
