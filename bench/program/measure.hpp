#pragma once

#include <chrono>
#include <ctime>
#include <vector>

#include "bench/program/command_line.hpp"
#include "bench/program/statistics.hpp"

namespace glimmer {

using wall = std::chrono::steady_clock;

inline double seconds_since(wall::time_point begin) {
  return std::chrono::duration<double>(wall::now() - begin).count();
}

/// What time is told by: the wall's, or the processor's own time of this process, shared over its
/// computing threads. On a machine that others use as well the latter still tells what the code
/// costs.
struct bench_clock {
  bool processor_time = false;
  unsigned threads = 1;

  double now() const {
    if (!processor_time)
      return std::chrono::duration<double>(wall::now().time_since_epoch()).count();
    timespec spent{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec)) /
           threads;
  }
  template <class Work>
  double seconds_of(const Work& work) const {
    const double begin = now();
    work();
    return now() - begin;
  }
};

/// A clock and how many runs a median is taken of.
struct measuring {
  bench_clock clock;
  int runs = 5;

  /// Median of the seconds that one call of `work` takes, after one for warmth; short work is
  /// repeated within a run.
  template <class Work>
  double median_seconds(const Work& work) const {
    constexpr double run_seconds = 0.02;
    work();
    const double once = clock.seconds_of(work);
    const int repeats = once > run_seconds ? 1 : static_cast<int>(run_seconds / (once + 1e-9)) + 1;
    std::vector<double> seconds;
    for (int run = 0; run < runs; ++run)
      seconds.push_back(clock.seconds_of([&] {
        for (int i = 0; i < repeats; ++i) work();
      }) / repeats);
    return median(seconds);
  }
};

/// The flags --runs, --threads (0 = one per core) and --clock. Fails with one sentence.
result<measuring> measuring_of(const command_line& line);

}  // namespace glimmer
