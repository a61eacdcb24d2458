#include "bench/program/measure.hpp"

#include <algorithm>
#include <thread>

namespace glimmer {

result<measuring> measuring_of(const command_line& line) {
  const auto runs = line.number("runs");
  const auto threads = line.number("threads");
  if (!runs) return fail(runs.error());
  if (!threads) return fail(threads.error());
  const auto& clock = line.text("clock");
  if (*runs == 0) return fail(bad_value("runs", "--runs is at least 1"));
  if (clock != "wall" && clock != "cpu") return fail(bad_value("clock", "--clock is wall or cpu"));
  const auto all = std::max(1u, std::thread::hardware_concurrency());
  return measuring{{clock == "cpu", *threads > 0 ? *threads : all}, static_cast<int>(*runs)};
}

}  // namespace glimmer
