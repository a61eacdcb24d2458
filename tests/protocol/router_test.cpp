#include "protocol/router.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/protocol/http_script.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(router_cases)

BOOST_AUTO_TEST_CASE(each_route_is_found_by_method_and_path) {
  BOOST_TEST((find_route({"POST", "/v1/chat/completions"}).where == route::chat_completions));
  BOOST_TEST((find_route({"GET", "/v1/models"}).where == route::models));
  for (const auto* path : {"/v1/chat/completions", "/v1/chat/completions/render", "/v1/completions",
                           "/tokenize", "/detokenize"}) {
    const auto to = find_route({"POST", path});
    BOOST_TEST(is_work(to.where), path);
    BOOST_TEST(needs_api_key(to.where), path);
    BOOST_TEST(route_label(to.where) == path);
  }
  BOOST_TEST(!is_work(route::models));
  BOOST_TEST(find_route({"HEAD", "/health"}).method_allowed);
  BOOST_TEST((find_route({"GET", "/v1/nothing"}).where == route::unknown));
  BOOST_TEST((find_route({"POST", "/v1/chat/completions/"}).where == route::unknown));
}

BOOST_AUTO_TEST_CASE(a_wrong_method_is_told_with_the_right_ones) {
  const auto get = find_route({"GET", "/v1/chat/completions"});
  BOOST_TEST((get.where == route::chat_completions));
  BOOST_TEST(!get.method_allowed);
  BOOST_TEST(get.allow == "POST");
  BOOST_TEST(!find_route({"post", "/v1/chat/completions"}).method_allowed);
  BOOST_TEST(find_route({"DELETE", "/metrics"}).allow == "GET, HEAD");
}

BOOST_AUTO_TEST_CASE(labels_are_bounded) {
  BOOST_TEST(route_label(route::models) == "/v1/models");
  BOOST_TEST(route_label(route::unknown) == "other");
}

BOOST_AUTO_TEST_CASE(no_spelling_of_a_path_passes_the_key_check) {
  for (const auto target :
       {"/v1/models", "//v1/models", "/%761/models", "/v1/../v1/models", "/health/../v1/models",
        "/health%2f..%2fv1/models", "http://other/v1/models", "http://x@h/v1/models", "/V1/models",
        "/v1/models/", "/v1/models;health", "/v1/models?/health", "/v1/models#/health", "/nothing",
        "/", "*", "/health/", "//health", "/metrics/../v1/models"}) {
    for (const auto version : {"HTTP/1.0", "HTTP/1.1"}) {
      const auto text = "GET " + std::string{target} + " " + version + "\r\nHost: h\r\n\r\n";
      http_parser parser{limits{}};
      std::string_view bytes = text;
      if (parser.next(bytes) == http_event::refused) {
        BOOST_TEST(parser.refusal().status == 400, text);
        continue;
      }
      const auto found = find_route({parser.head().method(), parser.head().path()});
      BOOST_TEST(needs_api_key(found.where), text);
    }
  }
  BOOST_TEST(!needs_api_key(route::health));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
