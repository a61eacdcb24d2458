#include "bench/program/answer_record.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(answer_record_test)

BOOST_AUTO_TEST_CASE(only_pieces_with_content_count_as_tokens) {
  answer_record a;
  a.line(R"(data: {"choices":[{"delta":{"role":"assistant","content":""}}]})", 0.1);
  a.line("", 0.1);
  a.line(": a comment", 0.15);
  a.line(R"(data: {"choices":[{"delta":{"reasoning_content":"hm"}}]})", 0.2);
  a.line(R"(data: {"choices":[{"delta":{"content":"Hi"}}]})", 0.3);
  a.line(R"(data:{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]})", 0.5);
  a.line(R"(data: {"choices":[{"delta":{},"finish_reason":"stop"}]})", 0.6);
  a.line("data: [DONE]", 0.7);
  a.end(true, 0.7);
  BOOST_TEST(a.ok());
  BOOST_TEST(a.first_token() == 0.2);
  BOOST_TEST(a.whole() == 0.7);
  BOOST_TEST(a.tokens() == 3u);
  BOOST_TEST(a.gaps().size() == 2u);
  BOOST_TEST(a.per_token().value() == 0.15, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(usage_says_how_many_tokens_the_pieces_held) {
  answer_record a;
  a.line(R"(data: {"choices":[{"text":"some words"}]})", 1);
  a.line(R"(data: {"choices":[{"text":" more"}]})", 2);
  a.line(R"(data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":11}})", 2);
  a.line("data: [DONE]", 2);
  a.end(true, 2);
  BOOST_TEST(a.tokens() == 11u);
  BOOST_TEST(a.per_token().value() == 0.1, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(an_answer_that_was_refused_broken_or_cut_is_not_ok) {
  answer_record refused;
  refused.line(R"({"error":{"message":"no"}})", 1);
  refused.end(false, 1);
  BOOST_TEST(!refused.ok());
  BOOST_TEST(refused.complaint().find("no") != std::string::npos);

  answer_record cut;
  cut.line(R"(data: {"choices":[{"text":"a"}]})", 1);
  cut.end(true, 2);  // no [DONE]
  BOOST_TEST(!cut.ok());

  answer_record in_stream;
  in_stream.line(R"(data: {"choices":[{"text":"a"}]})", 1);
  in_stream.line(R"(data: {"error":{"message":"later"}})", 2);
  in_stream.line("data: [DONE]", 2);
  in_stream.end(true, 2);
  BOOST_TEST(!in_stream.ok());
  BOOST_TEST(!answer_record{}.per_token().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
