#pragma once

#include <string>
#include <string_view>

namespace glimmer {

/// CPU time of this thread so far: what one core would need, however busy the machine is.
double cpu_seconds();

/// What a figure is about: the program and the case.
struct figure_name {
  std::string_view bench;
  std::string_view subject;
};

/// One line of a benchmark: {"bench": ..., "case": ..., "figure": value, ...}.
class figure_line {
 public:
  explicit figure_line(figure_name name);
  figure_line& add(std::string_view figure, double value);
  /// Writes the line to standard output.
  void print() const;

 private:
  std::string text_;
};

}  // namespace glimmer
