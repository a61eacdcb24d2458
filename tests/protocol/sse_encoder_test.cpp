#include "protocol/sse_encoder.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(sse_encoder_test)

BOOST_AUTO_TEST_CASE(an_event_is_one_data_line_and_a_blank_line) {
  std::string out;
  append_sse_event(out, "{\"a\":1}");
  BOOST_TEST(out == "data: {\"a\":1}\n\n");
  out.clear();
  {
    const sse_event event{out};
    out += "x";
  }
  BOOST_TEST(out == "data: x\n\n");
}

BOOST_AUTO_TEST_CASE(a_payload_of_several_lines_stays_one_event) {
  std::string out;
  append_sse_event(out, "a\n\nb");
  BOOST_TEST(out == "data: a\ndata: \ndata: b\n\n");
}

BOOST_AUTO_TEST_CASE(a_keep_alive_is_a_comment) {
  BOOST_TEST(sse_keep_alive == ": keep-alive\n\n");
  BOOST_TEST(sse_done == "data: [DONE]\n\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
