#include "parsers/invoke_scanner.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/parsers/pages.hpp"

namespace glimmer::test {

namespace {

// Made on first use: before main there is no test to report a failure to.
const std::shared_ptr<const tool_catalog>& tools() {
  static const auto made = tools_of(R"([{"name": "dice"}])");
  return made;
}

scanned_body scan(std::string_view text, body_end end = body_end::closed) {
  tool_body body;
  body.text = text;
  return scan_invokes(body, {tools().get(), "dice", end});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(invoke_scanner_test)

BOOST_AUTO_TEST_CASE(the_rest_begins_behind_the_block_of_the_last_call) {
  const std::string block =
      "<atem:function_calls><atem:invoke></atem:invoke></atem:function_calls>";
  const scanned_body found = scan("a" + block + " b </atem:function_calls> c");
  BOOST_TEST(found.invokes.size() == 1u);
  BOOST_TEST(found.rest_begin == 1 + block.size());
  BOOST_TEST(found.rest_end == 1 + block.size() + 27);
}

BOOST_AUTO_TEST_CASE(a_broken_call_ends_the_rest) {
  const std::string call = "<atem:invoke name=\"dice\"></atem:invoke>";
  const scanned_body found = scan(call + "x<atem:invoke><atem:parameter name=\"a\">y");
  BOOST_TEST(found.invokes.size() == 1u);
  BOOST_TEST(found.has_opener);
  BOOST_TEST(found.rest_begin == call.size());
  BOOST_TEST(found.rest_end == call.size() + 1);
}

BOOST_AUTO_TEST_CASE(missing_closers_are_forgiven_at_the_end_of_a_message_only) {
  BOOST_TEST(scan("<atem:invoke>").invokes.size() == 1u);
  BOOST_TEST(scan("<atem:invoke>", body_end::cut).invokes.empty());
  BOOST_TEST(scan("<atem:invoke> but").invokes.empty());
}

BOOST_AUTO_TEST_CASE(a_block_ends_where_its_closer_is_no_part_of_a_value) {
  tool_body body;
  body.text = "<atem:function_calls><atem:invoke></atem:invoke></atem:function_calls>";
  const body_context context{tools().get(), "dice", body_end::closed};
  BOOST_TEST(ends_with_block(body, body.text.size(), context));
  body.text = "<atem:invoke><atem:parameter name=\"a\"></atem:function_calls>";
  BOOST_TEST(!ends_with_block(body, body.text.size(), context));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer::test
