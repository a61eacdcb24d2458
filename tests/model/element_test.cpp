#include "model/element.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>

namespace glimmer {
namespace {

float first_of(const char* type, std::uint32_t bits) {
  std::array<std::byte, 4> bytes;
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(bits >> (8 * i) & 0xFF);
  stored_tensor t;
  t.type = type;
  t.shape = {1};
  t.data = bytes;
  return element(t, 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(element_test)

BOOST_AUTO_TEST_CASE(three_types_widen_exactly) {
  BOOST_TEST(first_of("F32", 0x40490FDB) == 3.14159274f);
  BOOST_TEST(first_of("BF16", 0xBF80) == -1.0f);
  BOOST_TEST(first_of("F16", 0x3C00) == 1.0f);
  BOOST_TEST(first_of("F16", 0xC000) == -2.0f);
  BOOST_TEST(first_of("F16", 0x7BFF) == 65504.0f);
  BOOST_TEST(first_of("F16", 0x0001) == 0x1p-24f);
  BOOST_TEST(first_of("F16", 0x8000) == 0.0f);
  BOOST_TEST(std::isinf(first_of("F16", 0x7C00)));
  BOOST_TEST(std::isnan(first_of("F16", 0x7E00)));
}

BOOST_AUTO_TEST_CASE(other_types_are_not_plain) {
  stored_tensor t;
  t.type = "F8_E4M3";
  BOOST_TEST(!plain_type(t).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
