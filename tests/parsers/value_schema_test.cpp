#include "parsers/value_schema.hpp"

#include <boost/test/unit_test.hpp>

#include "parsers/member_text.hpp"
#include "parsers/tool_catalog.hpp"

namespace glimmer {

namespace {

json parse(std::string_view text) {
  return json::parse(text).value();
}

int types(std::string_view schema, const char* root = "{}") {
  const auto found = allowed_types(parse(schema), parse(root));
  return found ? found->bits : -1;
}
constexpr int number = type_set::integer | type_set::fraction;

}  // namespace

BOOST_AUTO_TEST_SUITE(value_schema_test)

BOOST_AUTO_TEST_CASE(types_are_named_listed_or_implied) {
  BOOST_TEST(types(R"({"type": "number"})") == number);
  BOOST_TEST(types(R"({"type": ["null", "string"]})") == (type_set::null | type_set::string));
  BOOST_TEST(types(R"({"const": 5})") == type_set::integer);
  BOOST_TEST(types(R"({"enum": ["a", true]})") == (type_set::string | type_set::boolean));
  BOOST_TEST(types(R"({"properties": {}})") == type_set::object);
  BOOST_TEST(types(R"({"items": {}})") == type_set::array);
  BOOST_TEST(types(R"({"minimum": 1})") == -1);
  BOOST_TEST(types("true") == -1);
}

BOOST_AUTO_TEST_CASE(unions_need_every_branch_and_intersections_the_known_ones) {
  BOOST_TEST(types(R"({"anyOf": [{"type": "string"}, {"type": "null"}]})") ==
             (type_set::string | type_set::null));
  BOOST_TEST(types(R"({"oneOf": [{"type": "string"}, {}]})") == -1);
  BOOST_TEST(types(R"({"allOf": [{"type": "number"}, {}, {"type": ["integer", "string"]}]})") ==
             type_set::integer);
}

BOOST_AUTO_TEST_CASE(local_references_are_followed) {
  const char* root = R"({"$defs": {"a/b": {"type": "array"}, "list": [{"type": "null"}],
                                   "self": {"$ref": "#/$defs/self"}}})";
  BOOST_TEST(types(R"({"$ref": "#/$defs/a~1b"})", root) == type_set::array);
  BOOST_TEST(types(R"({"$ref": "#/$defs/list/0"})", root) == type_set::null);
  BOOST_TEST(types(R"({"$ref": "#/$defs/self"})", root) == -1);
  BOOST_TEST(types(R"({"$ref": "#/$defs/none"})", root) == -1);
  BOOST_TEST(types(R"({"$ref": "http://example.org/x"})", root) == -1);
}

BOOST_AUTO_TEST_CASE(a_schema_that_refers_to_itself_many_times_ends) {
  const char* root = R"({"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"enum": [1]}]})";
  BOOST_TEST(types(root, root) == -1);
  BOOST_TEST(!listed_members(parse(root), parse(root)).empty());
}

BOOST_AUTO_TEST_CASE(members_are_listed_in_order) {
  const auto members =
      listed_members(parse(R"({"const": "a", "anyOf": [{"enum": [1]}, {"oneOf": [{"const": {"x":
          [1.0, "y"]}}]}]})"),
                     json{});
  BOOST_REQUIRE(members.size() == 3u);
  BOOST_TEST(member_text(members[0]) == "a");
  BOOST_TEST(member_text(members[1]) == "1");
  BOOST_TEST(member_text(members[2]) == R"({"x": [1.0, "y"]})");
}

BOOST_AUTO_TEST_CASE(a_parameter_is_declared_by_name_or_by_the_rest) {
  const tool_definition tool{"t", {}, parse(R"({"$ref": "#/$defs/args", "$defs": {"args":
      {"properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "string"}}}})")};
  BOOST_TEST(declares_parameter(tool, "a"));
  BOOST_TEST(!declares_parameter(tool, "b"));
  BOOST_TEST(parameter_schema(tool, "b").has_value());
  BOOST_TEST(!parameter_schema({"t", {}, {}}, "b").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
