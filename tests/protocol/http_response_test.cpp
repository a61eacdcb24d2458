#include "protocol/http_response.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(http_response_cases)

BOOST_AUTO_TEST_CASE(a_sized_answer_has_its_length_and_fields) {
  std::string out;
  http_response response{.status = 429, .fields = {{"retry-after", "1"}}, .body = "{}"};
  append_response_head(out, response, {.size = 2});
  BOOST_TEST(out ==
             "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\n"
             "retry-after: 1\r\ncontent-length: 2\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(a_stream_is_chunked_and_not_cached) {
  std::string out;
  append_response_head(out, event_stream_response(), {.what = http_body_framing::kind::chunked});
  BOOST_TEST(out ==
             "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
             "cache-control: no-cache\r\nx-accel-buffering: no\r\n"
             "transfer-encoding: chunked\r\n\r\n");
  out.clear();
  append_chunk(out, "data: 0123456789\n\n");
  append_last_chunk(out);
  BOOST_TEST(out == "12\r\ndata: 0123456789\n\n\r\n0\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(the_old_version_hears_whether_the_connection_stays) {
  std::string out;
  append_response_head(out, {.content_type = ""}, {.keep_alive = true, .minor_version = 0});
  BOOST_TEST(out == "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n");
  out.clear();
  append_response_head(out, {.content_type = ""}, {.keep_alive = false});
  BOOST_TEST(out == "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(an_echoed_value_cannot_start_a_line) {
  std::string out;
  append_response_head(out, {.content_type = "", .fields = {{"x-request-id", "a\r\nset: b"}}}, {});
  BOOST_TEST(out.find("x-request-id: a??set: b\r\n") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
