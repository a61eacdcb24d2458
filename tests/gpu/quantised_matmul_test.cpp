#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/gpu/products.hpp"

namespace glimmer {

namespace {

/// A quantised matrix as a checkpoint holds it, and its weights by the published formulas.
struct quantised {
  matrix_extent extent;
  dtype type = dtype::f8_e4m3;
  scale_rule rule{};
  raw_bytes codes;
  raw_bytes scales;  ///< f32 or f8_e4m3
  floats weights;

  std::int64_t code_width() const { return type == dtype::f4_pair ? extent.in / 2 : extent.in; }
  tensor_shape scale_shape() const {
    if (type == dtype::f4_pair) return {extent.out, extent.in / 16};
    return {(extent.out + 127) / 128, (extent.in + 127) / 128};
  }
};

/// The formula of E4M3, by powers of two.
float e4m3(std::byte code) {
  const int bits = std::to_integer<int>(code);
  const int exponent = (bits >> 3) & 15;
  const int mantissa = bits & 7;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return static_cast<float>((bits & 128) != 0 ? -magnitude : magnitude);
}

float e2m1(int code) {
  const int exponent = (code >> 1) & 3;
  const int mantissa = code & 1;
  const double magnitude = exponent == 0 ? 0.5 * mantissa : std::ldexp(2 + mantissa, exponent - 2);
  return static_cast<float>((code & 8) != 0 ? -magnitude : magnitude);
}

std::byte any_code(dice& d) {
  const auto code = d.below(256);
  return static_cast<std::byte>((code & 127) == 127 ? code - 1 : code);
}

/// Codes of every kind, denormals and zeros of both signs among them.
quantised random_f8(dice& d, matrix_extent extent) {
  quantised q{.extent = extent, .codes = {}, .scales = {}, .weights = {}};
  for (std::int64_t i = 0; i < extent.out * extent.in; ++i) q.codes.push_back(any_code(d));
  const auto columns = q.scale_shape()[1];
  floats scales = d.normal(q.scale_shape().count(), 0.01f);
  for (float& s : scales) s = std::abs(s) + 1e-4f;
  q.scales = rig::encode(scales, dtype::f32);
  for (std::int64_t o = 0; o < extent.out; ++o) {
    for (std::int64_t i = 0; i < extent.in; ++i) {
      const float scale = scales[static_cast<std::size_t>(o / 128 * columns + i / 128)];
      q.weights.push_back(e4m3(q.codes[static_cast<std::size_t>(o * extent.in + i)]) * scale);
    }
  }
  return q;
}

quantised random_f4(dice& d, matrix_extent extent, scale_rule rule) {
  quantised q{.extent = extent,
              .type = dtype::f4_pair,
              .rule = rule,
              .codes = {},
              .scales = {},
              .weights = {}};
  for (std::int64_t i = 0; i < extent.out * extent.in / 2; ++i)
    q.codes.push_back(static_cast<std::byte>(d.below(256)));
  for (std::int64_t i = 0; i < q.scale_shape().count(); ++i)
    q.scales.push_back(static_cast<std::byte>(1 + d.below(126)));
  for (std::int64_t o = 0; o < extent.out; ++o) {
    for (std::int64_t i = 0; i < extent.in; ++i) {
      const auto at = static_cast<std::size_t>(o * extent.in + i);
      const float stored = e4m3(q.scales[at / 16]);
      const float scale = rule.divisor == 1 ? stored * rule.multiplier : stored / rule.divisor;
      const int pair = std::to_integer<int>(q.codes[at / 2]);
      q.weights.push_back(e2m1(i % 2 == 0 ? pair & 15 : pair >> 4) * scale);
    }
  }
  return q;
}

/// One matrix of each kind.
std::vector<quantised> matrices(dice& d, matrix_extent extent) {
  return {random_f8(d, extent), random_f4(d, extent, {.multiplier = 0.0123f}),
          random_f4(d, extent, {.divisor = 77.7f})};
}

packed_matrix room_for(rig& r, const quantised& q) {
  const auto bytes = static_cast<std::int64_t>(r.op().packed_bytes(q.extent, q.type));
  return {.storage = r.make({bytes}, dtype::u8),
          .out = q.extent.out,
          .in = q.extent.in,
          .source = q.type,
          .scale = q.rule};
}

tensor put_codes(rig& r, const quantised& q) {
  const tensor codes = r.make({q.extent.out, q.code_width()}, q.type);
  r.put_bytes(codes, q.codes);
  return codes;
}

tensor put_scales(rig& r, const quantised& q) {
  const auto type = q.type == dtype::f4_pair ? dtype::f8_e4m3 : dtype::f32;
  const tensor scales = r.make(q.scale_shape(), type);
  r.put_bytes(scales, q.scales);
  return scales;
}

packed_matrix pack(rig& r, const quantised& q) {
  const packed_matrix w = room_for(r, q);
  r.op().pack(r.stream(), w, 0, put_codes(r, q));
  r.op().pack_scales(r.stream(), w, 0, put_scales(r, q));
  return w;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(quantised_matmul_test)

BOOST_AUTO_TEST_CASE(codes_widen_as_published) {
  for (int code = 0; code < 256; ++code) {
    const float value = widen(f8{static_cast<std::uint8_t>(code)});
    if ((code & 127) == 127) {
      BOOST_TEST(std::isnan(value));
    } else {
      BOOST_TEST(std::bit_cast<std::uint32_t>(value) ==
                 std::bit_cast<std::uint32_t>(e4m3(static_cast<std::byte>(code))));
    }
  }
  for (int code = 0; code < 16; ++code) {
    BOOST_TEST(std::bit_cast<std::uint32_t>(widen_f4(static_cast<std::uint32_t>(code))) ==
               std::bit_cast<std::uint32_t>(e2m1(code)));
  }
  BOOST_TEST(widen(f8{0x7e}) == 448);
  BOOST_TEST(widen_f4(15) == -6);
}

BOOST_AUTO_TEST_CASE(every_version_multiplies_the_published_weights_bit_for_bit) {
  on_every_version([](rig& r) {
    dice d(21);
    for (const matrix_extent extent : {matrix_extent{192, 576}, {32, 192}, {300, 144}, {7, 16}}) {
      for (const quantised& q : matrices(d, extent)) {
        BOOST_TEST_CONTEXT(to_string(q.type) << " out " << extent.out << " in " << extent.in) {
          const floats x = rig::rounded(d.normal(5 * extent.in), dtype::bf16);
          const tensor rows = r.put(x, {5, extent.in}, dtype::bf16);
          BOOST_TEST((product_bytes(r, rows, pack(r, q)) == chain_of(x, q.weights, q.extent)));
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(fp8_rows_of_any_width_are_multiplied) {
  on_every_version([](rig& r) {
    dice d(22);
    for (int i = 0; i < 12; ++i) {
      const quantised q = random_f8(d, {.out = 1 + d.below(300), .in = 1 + d.below(1200)});
      const std::int64_t rows = 1 + d.below(14);
      const floats x = d.normal(rows * q.extent.in);
      const tensor put = r.put(x, {rows, q.extent.in}, dtype::f32);
      BOOST_TEST((product_bytes(r, put, pack(r, q)) == chain_of(x, q.weights, q.extent)),
                 rows << " rows, out " << q.extent.out << " in " << q.extent.in);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_in_any_batch_and_with_any_threads) {
  dice d(23);
  for (const quantised& q : matrices(d, {.out = 130, .in = 1040})) {
    for (const unsigned threads : {1u, 3u}) {
      rig r(available_instruction_sets().back(), threads);
      expect_same_bits_alone(r, d, pack(r, q));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_matrix_packed_in_pieces_equals_one_packed_at_once) {
  rig r(available_instruction_sets().back());
  dice d(24);
  for (const quantised& q : matrices(d, {.out = 275, .in = 272})) {
    const packed_matrix w = room_for(r, q);
    const tensor codes = put_codes(r, q);
    const tensor scales = put_scales(r, q);
    for (const row_range part : {row_range{140, 135}, row_range{0, 7}, row_range{7, 133}})
      r.op().pack(r.stream(), w, part.begin, codes.rows(part));
    const std::int64_t height = q.type == dtype::f8_e4m3 ? 128 : 1;
    const std::int64_t half = scales.shape[0] / 2;
    r.op().pack_scales(r.stream(), w, half * height, scales.rows({half, scales.shape[0] - half}));
    r.op().pack_scales(r.stream(), w, 0, scales.rows({0, half}));
    const tensor x = r.put(d.normal(3 * q.extent.in), {3, q.extent.in}, dtype::bf16);
    BOOST_TEST((product_bytes(r, x, w) == product_bytes(r, x, pack(r, q))));
  }
}

BOOST_AUTO_TEST_CASE(quantised_matrices_stay_small) {
  rig r(instruction_set::plain);
  const matrix_extent extent{.out = 6656, .in = 19'968};
  const double weights = 6656.0 * 19'968.0;
  const auto bits = [&](dtype type) {
    return 8.0 * static_cast<double>(r.op().packed_bytes(extent, type)) / weights;
  };
  BOOST_TEST(bits(dtype::f8_e4m3) < 8.02);
  BOOST_TEST(bits(dtype::f4_pair) == 4.5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
