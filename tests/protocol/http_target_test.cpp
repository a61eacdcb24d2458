#include "protocol/http_target.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(http_target_cases)

BOOST_AUTO_TEST_CASE(plain_and_absolute_targets_name_the_same_path) {
  BOOST_TEST(parse_http_target("/v1/models")->path == "/v1/models");
  BOOST_TEST(parse_http_target("/v1/models?a=/../b")->path == "/v1/models");
  BOOST_TEST(parse_http_target("/v1/models?a=/../b")->query == "a=/../b");
  BOOST_TEST(parse_http_target("http://host:80/v1/models")->path == "/v1/models");
  BOOST_TEST(parse_http_target("HTTPS://[::1]:80?x")->path == "/");
  BOOST_TEST(parse_http_target("*")->path == "*");
}

BOOST_AUTO_TEST_CASE(encoded_letters_are_decoded_once) {
  BOOST_TEST(parse_http_target("/%761/models")->path == "/v1/models");
  BOOST_TEST(parse_http_target("/v1/mod%65ls")->path == "/v1/models");
  BOOST_TEST(parse_http_target("//v1/models")->path == "//v1/models");
}

BOOST_AUTO_TEST_CASE(targets_that_could_be_read_in_two_ways_are_refused) {
  for (const auto target : {"/v1/../v1/models",
                            "/v1/./models",
                            "/v1/%2e%2e/models",
                            "/..",
                            "/v1/..",
                            "/v1%2fmodels",
                            "/v1%2Fmodels",
                            "/v1%5cmodels",
                            "/v1\\models",
                            "/v1/%00",
                            "/v1/%0d%0a",
                            "/%2576",
                            "/v1/%",
                            "/v1/%7",
                            "/v1/%zz",
                            "/a#b",
                            "v1/models",
                            "",
                            "http://",
                            "http:///v1/models",
                            "http://user@host/v1/models",
                            "ftp://host/",
                            "host:443",
                            "/a b",
                            "/\x80"}) {
    const auto parsed = parse_http_target(target);
    BOOST_TEST(!parsed.has_value(), target);
    if (!parsed) BOOST_TEST(parsed.error().status == 400);
  }
}

BOOST_AUTO_TEST_CASE(hosts_are_names_or_addresses) {
  for (const auto host : {"", "a", "a.b-c_d:80", "127.0.0.1", "[::1]", "[fe80::1]:8000"}) {
    BOOST_TEST(is_http_host(host), host);
  }
  for (const auto host :
       {"a/b", "a@b", "a b", "a:b", "a:123456", "[", "[]", "[::1]x", "[g]", "a%b"}) {
    BOOST_TEST(!is_http_host(host), host);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
