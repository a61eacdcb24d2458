#include <fmt/core.h>

#include <algorithm>

#include "tools/cases/cases.hpp"

namespace glimmer {

namespace {

constexpr std::size_t context_bytes = 40;

/// The text around byte `at`, as a JSON string, so that blanks and breaks can be seen.
std::string around(std::string_view text, std::size_t at) {
  const std::size_t from = at > context_bytes ? at - context_bytes : 0;
  std::string out;
  append_json_string(out, text.substr(from, at - from + context_bytes));
  return out;
}

}  // namespace

case_failure difference(std::string_view expected, const std::string& actual) {
  if (expected == actual) return {};
  const auto [e, a] = std::ranges::mismatch(expected, actual);
  const auto at = static_cast<std::size_t>(e - expected.begin());
  return fmt::format("  differs at byte {} of {} and {}\n  expected: {}\n  actual:   {}", at,
                     expected.size(), actual.size(), around(expected, at), around(actual, at));
}

}  // namespace glimmer
