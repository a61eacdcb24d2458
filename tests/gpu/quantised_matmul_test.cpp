#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "tests/gpu/products.hpp"

namespace glimmer {

namespace {

/// A quantised matrix as a checkpoint holds it, and in the words of its product.
struct quantised {
  matrix_extent extent;
  dtype type = dtype::f8_e4m3;
  scale_rule rule{};
  raw_bytes codes;
  raw_bytes scales;  ///< f32 or f8_e4m3
  floats values;     ///< of f8_e4m3: of its codes, [out, in]
  floats factors;    ///< and its scales
  coded fours;       ///< of f4_pair: doubled codes and halved scales

  std::int64_t code_width() const { return type == dtype::f4_pair ? extent.in / 2 : extent.in; }
  tensor_shape scale_shape() const {
    if (type == dtype::f4_pair) return {extent.out, extent.in / 16};
    return {(extent.out + 127) / 128, (extent.in + 127) / 128};
  }
  /// x w^T as the contract states it, by chains or in pairs.
  raw_bytes product(const floats& x, bool in_pairs = false) const;
  /// A weight as published.
  double weight(code_place at) const;
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
  quantised q{.extent = extent};
  for (std::int64_t i = 0; i < extent.out * extent.in; ++i) q.codes.push_back(any_code(d));
  q.factors = d.normal(q.scale_shape().count(), 0.01f);
  for (float& s : q.factors) s = std::abs(s) + 1e-4f;
  q.scales = rig::encode(q.factors, dtype::f32);
  for (const std::byte code : q.codes) q.values.push_back(e4m3(code));
  return q;
}

/// Fills in `fours` from codes and scales.
quantised with_coded(quantised q) {
  q.fours.width = q.extent.in;
  q.fours.columns = 16;
  for (const std::byte pair : q.codes)
    for (const int code : {std::to_integer<int>(pair) & 15, std::to_integer<int>(pair) >> 4})
      q.fours.codes.push_back(static_cast<int>(2 * e2m1(code)));
  for (const std::byte scale : q.scales) q.fours.scales.push_back(e4m3(scale) / 2);
  return q;
}

quantised random_f4(dice& d, matrix_extent extent, scale_rule rule) {
  quantised q{.extent = extent, .type = dtype::f4_pair, .rule = rule};
  for (std::int64_t i = 0; i < extent.out * extent.in / 2; ++i)
    q.codes.push_back(static_cast<std::byte>(d.below(256)));
  for (std::int64_t i = 0; i < q.scale_shape().count(); ++i)
    q.scales.push_back(static_cast<std::byte>(1 + d.below(126)));
  return with_coded(std::move(q));
}

/// Block sums of f8_e4m3, in 256ths, and one chain over the blocks.
float chain_of_blocks(const quantised& q, const float* x, std::int64_t o) {
  float sum = 0;
  for (std::int64_t begin = 0; begin < q.extent.in; begin += 128) {
    float block = 0;
    for (std::int64_t k = begin; k < std::min(begin + 128, q.extent.in); ++k)
      block = std::fma(x[k], q.values[static_cast<std::size_t>(o * q.extent.in + k)] / 256, block);
    const auto at = o / 128 * q.scale_shape()[1] + begin / 128;
    sum = std::fma(block, q.factors[static_cast<std::size_t>(at)] * 256, sum);
  }
  return sum;
}

/// The same over bf16 activations, whose block sums are in pairs.
float chain_of_pair_blocks(const quantised& q, const float* x, std::int64_t o) {
  float sum = 0;
  for (std::int64_t begin = 0; begin < q.extent.in; begin += 128) {
    const std::int64_t width = std::min<std::int64_t>(128, q.extent.in - begin);
    floats block;
    for (std::int64_t k = begin; k < begin + width; ++k)
      block.push_back(q.values[static_cast<std::size_t>(o * q.extent.in + k)] / 256);
    const auto at = o / 128 * q.scale_shape()[1] + begin / 128;
    sum = std::fma(sum_of_pairs({x + begin, block.data(), width}),
                   q.factors[static_cast<std::size_t>(at)] * 256, sum);
  }
  return sum;
}

double quantised::weight(code_place at) const {
  if (type == dtype::f4_pair)
    return fours.value(at) * static_cast<double>(rule.multiplier) /
           static_cast<double>(rule.divisor);
  const auto block = at.row / 128 * scale_shape()[1] + at.k / 128;
  return static_cast<double>(values[static_cast<std::size_t>(at.row * extent.in + at.k)]) *
         static_cast<double>(factors[static_cast<std::size_t>(block)]);
}

raw_bytes quantised::product(const floats& x, bool in_pairs) const {
  floats sums;
  const auto chain = in_pairs ? chain_of_pair_blocks : chain_of_blocks;
  if (type == dtype::f4_pair) {
    sums = chain_of_groups(coded_activations(x, {.width = extent.in, .columns = 16}), fours);
    for (float& s : sums) s = rule.divisor == 1 ? s * rule.multiplier : s / rule.divisor;
  } else {
    for (std::int64_t row = 0; row * extent.in < std::ssize(x); ++row)
      for (std::int64_t o = 0; o < extent.out; ++o)
        sums.push_back(chain(*this, x.data() + row * extent.in, o));
  }
  return rig::encode(sums, dtype::f32);
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

BOOST_AUTO_TEST_CASE(every_version_multiplies_the_published_codes_bit_for_bit) {
  on_every_version([](rig& r) {
    dice d(21);
    for (const matrix_extent extent : {matrix_extent{192, 576}, {32, 192}, {300, 144}, {7, 16}}) {
      for (const quantised& q : matrices(d, extent)) {
        BOOST_TEST_CONTEXT(to_string(q.type) << " out " << extent.out << " in " << extent.in) {
          const floats x = rig::rounded(d.normal(5 * extent.in), dtype::bf16);
          const tensor rows = r.put(x, {5, extent.in}, dtype::bf16);
          const bool in_pairs = sums_in_pairs(r.device().instructions());
          BOOST_TEST((product_bytes(r, rows, pack(r, q)) == q.product(x, in_pairs)));
        }
      }
    }
  });
}

/// Every code and scale at its largest, activations of one sign, of both, tiny and huge.
BOOST_AUTO_TEST_CASE(extreme_fours_neither_saturate_nor_wrap) {
  on_every_version([](rig& r) {
    dice d(25);
    quantised q{.extent = {.out = 40, .in = 96}, .type = dtype::f4_pair};
    for (std::int64_t o = 0; o < q.extent.out; ++o) {
      for (std::int64_t i = 0; i < q.code_width(); ++i) {
        const std::byte mixed[] = {std::byte{0x7f}, std::byte{0xf7}, std::byte{0x88}};
        q.codes.push_back(o % 3 == 0   ? std::byte{0x77}
                          : o % 3 == 1 ? std::byte{0xff}
                                       : mixed[d.below(3)]);
      }
    }
    q.scales.assign(static_cast<std::size_t>(q.scale_shape().count()), std::byte{0x7e});
    q = with_coded(std::move(q));
    for (const float size : {1e-45f, 1e-38f, 1.0f, 1e30f}) {
      floats x;
      for (std::int64_t i = 0; i < 6 * q.extent.in; ++i) {
        const auto kind = i / q.extent.in % 3;
        x.push_back(kind == 0   ? size
                    : kind == 1 ? -size
                                : size * static_cast<float>(d.below(3) - 1));
      }
      const tensor rows = r.put(x, {6, q.extent.in}, dtype::f32);
      BOOST_TEST((product_bytes(r, rows, pack(r, q)) == q.product(x)), size);
    }
  });
}

/// The published weights, dequantised in double: what is left is the rounding of activations.
BOOST_AUTO_TEST_CASE(products_are_near_those_of_the_published_weights) {
  rig r(available_instruction_sets().back());
  dice d(26);
  for (const quantised& q : matrices(d, {.out = 64, .in = 4096})) {
    const floats x = rig::rounded(d.normal(4 * q.extent.in), dtype::bf16);
    const tensor rows = r.put(x, {4, q.extent.in}, dtype::bf16);
    const floats got = rig::decode(product_bytes(r, rows, pack(r, q)), dtype::f32);
    double error = 0;
    double size = 0;
    for (std::int64_t row = 0; row < 4; ++row) {
      for (std::int64_t o = 0; o < q.extent.out; ++o) {
        double sum = 0;
        for (std::int64_t k = 0; k < q.extent.in; ++k)
          sum += q.weight({o, k}) * x[static_cast<std::size_t>(row * q.extent.in + k)];
        error += std::pow(got[static_cast<std::size_t>(row * q.extent.out + o)] - sum, 2);
        size += std::pow(sum, 2);
      }
    }
    const double relative = std::sqrt(error / size);
    BOOST_TEST_MESSAGE(to_string(q.type) << ": relative RMS error of a product " << relative);
    BOOST_TEST(relative < (q.type == dtype::f4_pair ? 0.0055 : 1e-5));
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_gives_nan_and_zeros_stay_zeros) {
  on_every_version([](rig& r) {
    dice d(27);
    const quantised q = random_f4(d, {.out = 20, .in = 64}, {});
    for (const float odd : {0.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
      floats x(64, 0.0f);
      x[40] = odd;
      const tensor row = r.put(x, {1, 64}, dtype::f32);
      for (const float got : rig::decode(product_bytes(r, row, pack(r, q)), dtype::f32))
        BOOST_TEST((odd == 0 ? got == 0 : std::isnan(got)), odd);
    }
  });
}

BOOST_AUTO_TEST_CASE(activations_lose_what_is_documented) {
  dice d(28);
  const floats x = rig::rounded(d.normal(64 * 4096), dtype::bf16);
  const double error = error_of(coded_activations(x, {.width = 4096, .columns = 16}), x);
  BOOST_TEST_MESSAGE("relative RMS error of activations " << error);
  BOOST_TEST(std::abs(error / 0.0047 - 1) < 0.1, error);
}

BOOST_AUTO_TEST_CASE(fp8_rows_of_any_width_are_multiplied) {
  on_every_version([](rig& r) {
    dice d(22);
    for (int i = 0; i < 12; ++i) {
      const quantised q = random_f8(d, {.out = 1 + d.below(300), .in = 1 + d.below(1200)});
      const std::int64_t rows = 1 + d.below(14);
      const floats x = d.normal(rows * q.extent.in);
      const tensor put = r.put(x, {rows, q.extent.in}, dtype::f32);
      BOOST_TEST((product_bytes(r, put, pack(r, q)) == q.product(x)),
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
