#include "bench/program/load_client.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(load_client_test)

BOOST_AUTO_TEST_CASE(an_address_is_host_port_and_prefix_with_or_without_v1) {
  const auto plain = server_address::parse("http://localhost:8000");
  BOOST_REQUIRE(plain);
  BOOST_TEST(plain->host == "localhost");
  BOOST_TEST(plain->port == "8000");
  BOOST_TEST(plain->prefix == "");
  const auto deep = server_address::parse("http://example.org/models/x/v1/");
  BOOST_REQUIRE(deep);
  BOOST_TEST(deep->port == "80");
  BOOST_TEST(deep->prefix == "/models/x");
  for (const auto* wrong :
       {"", "localhost:8000", "https://example.org", "http://", "http://:80", "http://host:"})
    BOOST_TEST(!server_address::parse(wrong).has_value(), wrong);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
