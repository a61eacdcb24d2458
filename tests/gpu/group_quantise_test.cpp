#include <boost/test/unit_test.hpp>
#include <limits>

#include "tests/gpu/products.hpp"

namespace glimmer {

namespace {

/// A format that `pack` makes, in the test's own words.
struct group_format {
  dtype type = dtype::i8;
  std::int64_t columns = 64;
};
constexpr group_format formats[] = {{dtype::i8, 64}, {dtype::i4_pair, 32}};

/// What becomes of one group: divided, rounded to whole numbers by the C library, widened.
floats quantised_group(const floats& w, dtype type) {
  float extreme = 0;
  for (const float x : w)
    if (std::abs(x) > std::abs(extreme)) extreme = x;
  const bool eight = type == dtype::i8;
  const float scale = widen(to_bf16(eight ? std::abs(extreme) / 127.0f : extreme / -8.0f));
  floats out;
  for (const float x : w) {
    const float code = scale == 0 ? 0.0f : std::nearbyint(x / scale);
    out.push_back(std::min(std::max(code, eight ? -127.0f : -8.0f), eight ? 127.0f : 7.0f) * scale);
  }
  return out;
}

floats quantised(const floats& weights, matrix_extent extent, const group_format& f) {
  floats out;
  for (std::int64_t row = 0; row < extent.out; ++row) {
    for (std::int64_t k = 0; k < extent.in; k += f.columns) {
      const auto begin = weights.begin() + row * extent.in + k;
      const floats group(begin, begin + std::min(f.columns, extent.in - k));
      const floats widened = quantised_group(group, f.type);
      out.insert(out.end(), widened.begin(), widened.end());
    }
  }
  return out;
}

packed_matrix room_for(rig& r, matrix_extent extent, dtype type) {
  const auto bytes = static_cast<std::int64_t>(r.op().packed_bytes(extent, type));
  return {
      .storage = r.make({bytes}, dtype::u8), .out = extent.out, .in = extent.in, .source = type};
}

packed_matrix pack(rig& r, const floats& weights, const group_format& f, matrix_extent extent) {
  const packed_matrix w = room_for(r, extent, f.type);
  r.op().pack(r.stream(), w, 0, r.put(weights, {extent.out, extent.in}, dtype::f32));
  return w;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(group_quantise_test)

BOOST_AUTO_TEST_CASE(every_version_multiplies_the_defined_weights_bit_for_bit) {
  on_every_version([](rig& r) {
    dice d(31);
    for (const matrix_extent extent : {matrix_extent{192, 576}, {33, 192}, {40, 77}, {7, 1}}) {
      for (const group_format& f : formats) {
        const floats weights = d.normal(extent.out * extent.in, 0.02f);
        const packed_matrix w = pack(r, weights, f, extent);
        for (const std::int64_t rows : {1, 5, 9}) {
          const floats x = rig::rounded(d.normal(rows * extent.in), dtype::bf16);
          const tensor put = r.put(x, {rows, extent.in}, dtype::bf16);
          BOOST_TEST(
              (product_bytes(r, put, w) == chain_of(x, quantised(weights, extent, f), extent)),
              to_string(f.type) << " out " << extent.out << " in " << extent.in << " rows "
                                << rows);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(weights_of_every_plain_type_are_taken) {
  rig r(available_instruction_sets().back());
  dice d(32);
  const matrix_extent extent{.out = 20, .in = 200};
  const floats x = rig::rounded(d.normal(extent.in), dtype::bf16);
  const tensor row = r.put(x, {1, extent.in}, dtype::bf16);
  for (const group_format& f : formats) {
    for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16}) {
      const floats weights = rig::rounded(d.normal(extent.out * extent.in), type);
      const packed_matrix w = room_for(r, extent, f.type);
      r.op().pack(r.stream(), w, 0, r.put(weights, {extent.out, extent.in}, type));
      BOOST_TEST((product_bytes(r, row, w) == chain_of(x, quantised(weights, extent, f), extent)));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_in_any_batch_and_with_any_threads) {
  dice d(33);
  const matrix_extent extent{.out = 130, .in = 1031};
  const floats weights = d.normal(extent.out * extent.in);
  for (const group_format& f : formats) {
    for (const instruction_set set : available_instruction_sets()) {
      rig r(set, set == instruction_set::plain ? 1 : 3);
      expect_same_bits_alone(r, d, pack(r, weights, f, extent));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_matrix_packed_in_pieces_equals_one_packed_at_once) {
  rig r(available_instruction_sets().back());
  dice d(34);
  const matrix_extent extent{.out = 275, .in = 272};
  const floats weights = d.normal(extent.out * extent.in);
  const tensor x = r.put(d.normal(3 * extent.in), {3, extent.in}, dtype::bf16);
  for (const group_format& f : formats) {
    const packed_matrix w = room_for(r, extent, f.type);
    const tensor rows = r.put(weights, {extent.out, extent.in}, dtype::f32);
    for (const row_range part : {row_range{140, 135}, row_range{0, 7}, row_range{7, 133}})
      r.op().pack(r.stream(), w, part.begin, rows.rows(part));
    BOOST_TEST((product_bytes(r, x, w) == product_bytes(r, x, pack(r, weights, f, extent))));
  }
}

BOOST_AUTO_TEST_CASE(zeros_stay_zeros_and_weights_that_are_not_finite_give_nan) {
  rig r(available_instruction_sets().back());
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const tensor x = r.put(floats(128, 1.0f), {1, 128}, dtype::f32);
  for (const group_format& f : formats) {
    for (const float odd : {0.0f, infinity, -infinity, infinity - infinity}) {
      floats weights(128, 0.0f);
      weights[70] = odd;
      const float got =
          rig::decode(product_bytes(r, x, pack(r, weights, f, {1, 128})), dtype::f32)[0];
      BOOST_TEST((odd == 0 ? got == 0 : std::isnan(got)), odd);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_error_is_the_documented_one_and_so_is_the_size) {
  rig r(instruction_set::plain);
  dice d(35);
  const matrix_extent extent{.out = 64, .in = 4096};
  const floats weights = rig::rounded(d.normal(extent.out * extent.in, 0.02f), dtype::bf16);
  for (const group_format& f : formats) {
    const floats widened = quantised(weights, extent, f);
    double error = 0;
    double size = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      error += std::pow(widened[i] - weights[i], 2);
      size += std::pow(weights[i], 2);
    }
    const double relative = std::sqrt(error / size);
    BOOST_TEST_MESSAGE(to_string(f.type) << ": relative RMS error " << relative);
    const double documented = f.type == dtype::i8 ? 0.0055 : 0.08;
    BOOST_TEST(std::abs(relative / documented - 1) < 0.1, relative);
    const double bits = 8.0 * static_cast<double>(r.op().packed_bytes(extent, f.type)) /
                        static_cast<double>(extent.out * extent.in);
    BOOST_TEST(bits == (f.type == dtype::i8 ? 8.25 : 4.5));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
