#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace glimmer {

/// One number of a row. The name carries the unit: "p50_ms".
struct figure {
  std::string name;
  double value = 0;
};

/// Rows of figures on standard output: a table for people, whose header is repeated where the
/// columns change, or one JSON object a line: {"bench": ..., "case": ..., "p50_ms": 1.5}.
class report {
 public:
  enum class form : unsigned char { table, json };
  report(form how, std::string_view bench) : how_{how}, bench_{bench} {}

  void row(std::string_view subject, const std::vector<figure>& figures);

 private:
  void table_row(std::string_view subject, const std::vector<figure>& figures);

  form how_;
  std::string bench_;
  std::vector<std::string> columns_;
};

/// A bar on standard error while long work goes on; nothing where that is no terminal.
class progress_bar {
 public:
  explicit progress_bar(std::size_t whole);
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// So much of the whole is done.
  void show(std::size_t done);

 private:
  std::size_t whole_;
  std::size_t shown_ = 0;
  bool terminal_;
};

}  // namespace glimmer
