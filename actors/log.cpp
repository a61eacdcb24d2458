#include "actors/log.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <iterator>

namespace glimmer {
namespace {

constexpr std::array<std::string_view, 4> names{"debug", "info", "warning", "error"};

}  // namespace

log_level parse_log_level(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<log_level>(i);
  }
  return log_level::info;
}

void event_log::write(log_level level, std::string_view event, const std::string& fields) const {
  if (!writes(level)) return;
  const auto now = std::chrono::system_clock::now();
  const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(now);
  const auto part = std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds).count();
  std::string line;
  fmt::format_to(std::back_inserter(line), "{:%Y-%m-%dT%H:%M:%S}.{:03}Z {:<7} {}",
                 fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), part,
                 names[static_cast<std::size_t>(level)], event);
  for (const char c : fields.empty() ? std::string{} : " " + fields) {
    line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // one event stays one line
  }
  line += '\n';
  // One write call, so that lines of several threads stay whole; a lost log line is no failure.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace glimmer
