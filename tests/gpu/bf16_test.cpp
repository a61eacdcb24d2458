#include "gpu/cpu/bf16.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

#include "tests/gpu/rig.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(bf16_test)

BOOST_AUTO_TEST_CASE(every_bf16_survives_the_trip_through_f32) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bf16 x{static_cast<std::uint16_t>(bits)};
    if (std::isnan(widen(x))) {
      BOOST_REQUIRE(std::isnan(widen(to_bf16(widen(x)))));
    } else {
      BOOST_REQUIRE(to_bf16(widen(x)).bits == x.bits);
    }
  }
}

BOOST_AUTO_TEST_CASE(ties_go_to_the_even_neighbour) {
  const auto rounded = [](std::uint32_t bits) { return to_bf16(std::bit_cast<float>(bits)).bits; };
  BOOST_TEST(rounded(0x3f808000u) == 0x3f80u);  // halfway, even below
  BOOST_TEST(rounded(0x3f818000u) == 0x3f82u);  // halfway, even above
  BOOST_TEST(rounded(0x3f808001u) == 0x3f81u);
  BOOST_TEST(rounded(0x3f817fffu) == 0x3f81u);
  BOOST_TEST(rounded(0x7f7fffffu) == 0x7f80u);  // the largest f32 is beyond the largest bf16
  BOOST_TEST(rounded(0x80000000u) == 0x8000u);
  BOOST_TEST(rounded(0x00000001u) == 0x0000u);
}

BOOST_AUTO_TEST_CASE(every_f8_survives_the_trip_through_f32) {
  for (std::uint32_t code = 0; code < 256; ++code) {
    const f8 x{static_cast<std::uint8_t>(code)};
    BOOST_TEST(static_cast<std::uint32_t>(to_f8(widen(x)).bits) == code);
  }
}

BOOST_AUTO_TEST_CASE(an_f32_becomes_the_nearest_f8_ties_to_the_even_one_and_saturates) {
  const auto even = [](std::uint32_t code) { return code % 2 == 0; };
  for (std::uint32_t code = 0; code < 0x7e; ++code) {
    const auto below = static_cast<std::uint8_t>(code);
    const auto above = static_cast<std::uint8_t>(code + 1);
    const float middle = (widen(f8{below}) + widen(f8{above})) / 2;
    BOOST_TEST(to_f8(middle).bits == (even(code) ? below : above));
    BOOST_TEST(to_f8(-middle).bits == (even(code) ? below : above) + 128);
    BOOST_TEST(to_f8(std::nextafter(middle, 0.0f)).bits == below);
    BOOST_TEST(to_f8(std::nextafter(middle, 1e9f)).bits == above);
  }
  for (const float large : {449.0f, 1e9f, std::numeric_limits<float>::infinity()}) {
    BOOST_TEST(widen(to_f8(large)) == 448);
    BOOST_TEST(widen(to_f8(-large)) == -448);
  }
  BOOST_TEST(std::isnan(widen(to_f8(std::numeric_limits<float>::quiet_NaN()))));
}

BOOST_AUTO_TEST_CASE(a_nan_whose_payload_would_round_away_stays_one) {
  BOOST_TEST(std::isnan(widen(to_bf16(std::bit_cast<float>(0x7f800001u)))));
  BOOST_TEST(std::isnan(widen(to_bf16(std::bit_cast<float>(0xffffffffu)))));
}

BOOST_AUTO_TEST_CASE(halves_widen_exactly) {
  BOOST_TEST(widen(f16{0x3c00}) == 1.0f);
  BOOST_TEST(widen(f16{0xc000}) == -2.0f);
  BOOST_TEST(widen(f16{0x7bff}) == 65504.0f);
  BOOST_TEST(widen(f16{0x0001}) == std::ldexp(1.0f, -24));
  BOOST_TEST(widen(f16{0x83ff}) == -std::ldexp(1023.0f, -24));
  BOOST_TEST(widen(f16{0x7c00}) == std::numeric_limits<float>::infinity());
  BOOST_TEST(std::isnan(widen(f16{0x7c01})));
  BOOST_TEST(std::signbit(widen(f16{0x8000})));
}

/// Runs all 65,536 bit patterns, and f32 values around every tie, through the device's conversion.
BOOST_AUTO_TEST_CASE(every_version_converts_every_pattern_alike) {
  std::vector<raw_bytes> first;
  on_every_version([&](rig& r) {
    const std::int64_t count = 0x10000;
    std::vector<std::uint16_t> patterns(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
    std::vector<std::uint32_t> ties;
    for (std::uint32_t i = 0; i < 0x10000; ++i) ties.push_back(i << 16 | (0x7fffu + i % 3));
    std::vector<raw_bytes> got;
    for (const dtype from : {dtype::bf16, dtype::f16, dtype::f32}) {
      const tensor table = r.make({1, count}, from);
      r.put_bytes(table, from == dtype::f32 ? std::as_bytes(std::span(ties))
                                            : std::as_bytes(std::span(patterns)));
      for (const dtype to : {dtype::f32, dtype::bf16}) {
        const tensor out = r.make({1, count}, to);
        r.op().gather_rows(r.stream(), out, table, r.put(ids{0}, {1}));
        got.push_back(r.get_bytes(out));
      }
    }
    if (first.empty()) first = got;
    for (std::size_t i = 0; i < got.size(); ++i) BOOST_TEST((got[i] == first[i]));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
