#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "gpu/device.hpp"

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
  /// Which version of the code the figures belong to.
  figure_line& version(std::string_view name);
  /// Writes the line to standard output.
  void print() const;

 private:
  std::string text_;
};

/// Seconds of the fastest of some runs of `queue`, each until everything it queued is done.
template <class Queue>
double best_seconds(device& d, stream_handle s, const Queue& queue) {
  using clock = std::chrono::steady_clock;
  using seconds = std::chrono::duration<double>;
  constexpr int runs_max = 50;
  double best = 1e9;
  double spent = 0;
  for (int run = 0; run < runs_max && (run < 2 || spent < 0.5); ++run) {
    const auto begin = clock::now();
    queue();
    d.wait(d.record(s));
    const double took = seconds(clock::now() - begin).count();
    best = std::min(best, took);
    spent += took;
  }
  return best;
}

}  // namespace glimmer
