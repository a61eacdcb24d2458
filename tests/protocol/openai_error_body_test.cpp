#include <boost/test/unit_test.hpp>
#include <string>

#include "protocol/openai/error_body.hpp"

namespace glimmer {

namespace {

std::string field(const http_response& response, std::string_view name) {
  for (const auto& f : response.fields) {
    if (f.name == name) return f.value;
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(openai_error_body_test)

BOOST_AUTO_TEST_CASE(an_error_has_all_four_members) {
  const auto response = error_response(bad_value("messages[0]", "messages[0] is \"wrong\"."));
  BOOST_TEST(response.status == 400);
  BOOST_TEST(response.content_type == "application/json");
  BOOST_TEST(response.body ==
             R"({"error":{"message":"messages[0] is \"wrong\".","type":"invalid_request_error",)"
             R"("param":"messages[0]","code":"invalid_value"}})");
  BOOST_TEST(response.fields.empty());
}

BOOST_AUTO_TEST_CASE(what_is_unknown_is_null) {
  BOOST_TEST(error_response({error_kind::not_found, "", "", "No such route."}).body ==
             R"({"error":{"message":"No such route.","type":"invalid_request_error",)"
             R"("param":null,"code":null}})");
}

BOOST_AUTO_TEST_CASE(kind_and_code_decide_the_status) {
  const auto status = [](error_kind kind, std::string code) {
    return status_of({kind, std::move(code), "", ""});
  };
  BOOST_TEST(status(error_kind::bad_request, "invalid_json") == 400);
  BOOST_TEST(status(error_kind::bad_request, "context_length_exceeded") == 400);
  BOOST_TEST(status(error_kind::bad_request, "invalid_api_key") == 401);
  BOOST_TEST(status(error_kind::not_found, "model_not_found") == 404);
  BOOST_TEST(status(error_kind::bad_request, "method_not_allowed") == 405);
  BOOST_TEST(status(error_kind::bad_request, "request_timeout") == 408);
  BOOST_TEST(status(error_kind::bad_request, "request_too_large") == 413);
  BOOST_TEST(status(error_kind::bad_request, "unsupported_media_type") == 415);
  BOOST_TEST(status(error_kind::overloaded, "queue_full") == 429);
  BOOST_TEST(status(error_kind::unavailable, "draining") == 503);
  BOOST_TEST(status(error_kind::unavailable, "loading") == 503);
  BOOST_TEST(status(error_kind::unavailable, "timeout") == 504);
  BOOST_TEST(status(error_kind::device, "timeout") == 500);
  BOOST_TEST(status(error_kind::bug, "") == 500);
}

BOOST_AUTO_TEST_CASE(who_may_come_again_is_told_when) {
  const auto full = error_response({error_kind::overloaded, "queue_full", "", "Full."}, 2500);
  BOOST_TEST(field(full, "retry-after") == "3");
  BOOST_TEST(field(full, "retry-after-ms") == "2500");
  BOOST_TEST(field(full, "x-should-retry") == "true");
  const auto late = error_response({error_kind::unavailable, "loading", "", "."}, 4'000'000'000);
  BOOST_TEST(field(late, "retry-after") == "120");
  const auto key = error_response({error_kind::bad_request, "invalid_api_key", "", "Wrong key."});
  BOOST_TEST(field(key, "www-authenticate") == "Bearer");
}

BOOST_AUTO_TEST_CASE(failures_of_the_server_keep_their_insides) {
  for (const auto kind : {error_kind::device, error_kind::bug}) {
    const auto body =
        error_response({kind, "cuda", "stream", "bad address 0x7ffe in /opt/model"}).body;
    BOOST_TEST(body.find("0x") == std::string::npos);
    BOOST_TEST(body.find("/opt") == std::string::npos);
    BOOST_TEST(body.find("cuda") == std::string::npos);
    BOOST_TEST(body.find("\"server_error\"") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_refusal_of_the_http_layer_looks_the_same) {
  const auto response = error_response(http_refusal{431, "header_too_large", "Too many fields."});
  BOOST_TEST(response.status == 431);
  BOOST_TEST(response.body ==
             R"({"error":{"message":"Too many fields.","type":"invalid_request_error",)"
             R"("param":null,"code":"header_too_large"}})");
}

BOOST_AUTO_TEST_CASE(what_this_server_never_does_is_not_to_be_tried_again) {
  for (const int status : {501, 505}) {
    BOOST_TEST(field(error_response(http_refusal{status, "x", "No."}), "x-should-retry") ==
               "false");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
