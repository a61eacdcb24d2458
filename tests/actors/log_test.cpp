#include "actors/log.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <functional>
#include <regex>

namespace glimmer {
namespace {

/// What `writes` leaves on standard error.
std::string caught(const std::function<void()>& writes) {
  std::FILE* file = std::tmpfile();
  const int before = ::dup(STDERR_FILENO);
  ::dup2(::fileno(file), STDERR_FILENO);
  writes();
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::rewind(file);
  std::string out(4096, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), file));
  std::fclose(file);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(log_test)

BOOST_AUTO_TEST_CASE(an_event_is_one_line_of_time_level_name_and_fields) {
  const auto line = caught([] { event_log{}.info("engine", "phase=serving"); });
  const std::regex shape{
      R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info    engine phase=serving\n)"};
  BOOST_TEST(std::regex_match(line, shape), line);
}

BOOST_AUTO_TEST_CASE(events_below_the_level_are_left_out) {
  const auto lines = caught([] {
    const event_log log{log_level::warning};
    log.debug("a");
    log.info("b");
    log.warning("c");
    log.error("d");
  });
  BOOST_TEST(std::count(lines.begin(), lines.end(), '\n') == 2);
  BOOST_TEST(lines.find(" error   d") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_field_cannot_forge_a_line) {
  const auto line =
      caught([] { event_log{}.error("request", "name=x\n2026-01-01T00:00:00.000Z\r\x1b[2J"); });
  BOOST_TEST(std::count(line.begin(), line.end(), '\n') == 1);
  BOOST_TEST(line.find('\x1b') == std::string::npos);
  BOOST_TEST(line.find('\r') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(levels_have_names) {
  BOOST_TEST((parse_log_level("debug") == log_level::debug));
  BOOST_TEST((parse_log_level("error") == log_level::error));
  BOOST_TEST((parse_log_level("loud") == log_level::info));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
