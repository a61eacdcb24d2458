#include "parsers/tool_catalog.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/parsers/pages.hpp"

namespace glimmer::test {

namespace {

// Made on first use: before main there is no test to report a failure to.
const std::shared_ptr<const tool_catalog>& tools() {
  static const auto made =
      tools_of(R"([{"name": "clock"}, {"name": "repo.read"}, {"name": "repo"}])");
  return made;
}

/// The declared name, and the rest behind it in brackets.
std::string resolved(std::string_view name) {
  const auto match = tools()->resolve(name);
  if (match.tool == nullptr) return "";
  return match.tool->name + (match.rest.empty() ? "" : "[" + std::string{match.rest} + "]");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_catalog_test)

BOOST_AUTO_TEST_CASE(a_name_resolves_by_the_first_rule_that_fits) {
  BOOST_TEST(resolved("clock") == "clock");
  BOOST_TEST(resolved("clock.clock") == "clock");
  BOOST_TEST(resolved("repo.read.repo.read") == "repo.read");
  BOOST_TEST(resolved("repo.repo.read") == "repo.read");
  BOOST_TEST(resolved("default_api.clock") == "clock");
  BOOST_TEST(resolved("repo.read.path") == "repo.read[path]");
  BOOST_TEST(resolved("repo.write.x") == "repo[write.x]");
}

BOOST_AUTO_TEST_CASE(nothing_is_guessed) {
  for (const char* name : {"", ".", "x", "wall.clock", "clocks", "Clock", ".clock", "my.repo.read",
                           "functions.", "functions.wall.clock"}) {
    BOOST_TEST(resolved(name) == "", name);
  }
}

BOOST_AUTO_TEST_CASE(calls_need_tools_and_consent) {
  BOOST_TEST(tools()->calls_allowed());
  BOOST_TEST(!tools_of("[]")->calls_allowed());
  BOOST_TEST(!tools_of(R"([{"name": "clock"}])", false)->calls_allowed());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer::test
