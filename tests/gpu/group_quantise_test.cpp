#include <boost/test/unit_test.hpp>
#include <limits>

#include "tests/gpu/products.hpp"

namespace glimmer {

namespace {

/// A format that `pack` makes, in the test's own words.
struct group_format {
  dtype type = dtype::i8;
  std::int64_t columns = 64;

  coded groups_of(std::int64_t width) const { return {.width = width, .columns = columns}; }
};
constexpr group_format formats[] = {{dtype::i8, 64}, {dtype::i4_pair, 32}};

coded coded_weights(const floats& weights, std::int64_t in, const group_format& f) {
  const coded form = f.groups_of(in);
  if (f.type == dtype::i4_pair)
    return coded_rows(weights, form, -8, [](float x) { return widen(to_bf16(x / -8.0f)); });
  return coded_rows(weights, form, -127,
                    [](float x) { return widen(to_bf16(std::abs(x) / 127.0f)); });
}

raw_bytes rounded_chain(const coded& x, const coded& w) {
  return rig::encode(chain_of_groups(x, w), dtype::f32);
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

BOOST_AUTO_TEST_CASE(every_version_multiplies_the_defined_codes_bit_for_bit) {
  on_every_version([](rig& r) {
    dice d(31);
    for (const matrix_extent extent :
         {matrix_extent{192, 576}, {33, 192}, {40, 77}, {70, 1030}, {20, 35}, {7, 1}}) {
      for (const group_format& f : formats) {
        const floats weights = d.normal(extent.out * extent.in, 0.02f);
        const packed_matrix w = pack(r, weights, f, extent);
        const coded codes = coded_weights(weights, extent.in, f);
        for (const dtype type : {dtype::bf16, dtype::f32}) {
          for (const std::int64_t rows : {1, 2, 3, 5, 9, 16}) {
            const floats x = rig::rounded(d.normal(rows * extent.in), type);
            BOOST_TEST((product_bytes(r, r.put(x, {rows, extent.in}, type), w) ==
                        rounded_chain(coded_activations(x, f.groups_of(extent.in)), codes)),
                       to_string(f.type) << " out " << extent.out << " in " << extent.in << " rows "
                                         << rows << " of " << to_string(type));
          }
        }
      }
    }
  });
}

/// Codes at both ends, all of one sign or mixed: sums as large as they come.
BOOST_AUTO_TEST_CASE(extreme_codes_neither_saturate_nor_wrap) {
  on_every_version([](rig& r) {
    dice d(36);
    const matrix_extent extent{.out = 48, .in = 200};
    const auto extremes = [&](std::int64_t count, float size) {
      floats values;
      for (std::int64_t i = 0; i < count; ++i) {
        const auto kind = i / extent.in % 4;  // a row each of +, -, +-, and 0 among them
        const float sign = kind == 0 ? 1 : kind == 1 ? -1 : static_cast<float>(2 * d.below(2) - 1);
        values.push_back(kind == 3 && d.below(3) == 0 ? 0 : sign * size);
      }
      return values;
    };
    for (const group_format& f : formats) {
      const floats weights = extremes(extent.out * extent.in, 3.0f);
      const packed_matrix w = pack(r, weights, f, extent);
      const coded codes = coded_weights(weights, extent.in, f);
      for (const float size : {1e-45f, 1e-38f, 1.0f, 1e30f}) {
        const floats x = extremes(8 * extent.in, size);
        BOOST_TEST((product_bytes(r, r.put(x, {8, extent.in}, dtype::f32), w) ==
                    rounded_chain(coded_activations(x, f.groups_of(extent.in)), codes)),
                   to_string(f.type) << " " << size);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(products_are_those_of_the_values_that_the_codes_stand_for) {
  rig r(available_instruction_sets().back());
  dice d(37);
  const matrix_extent extent{.out = 50, .in = 700};
  const floats weights = d.normal(extent.out * extent.in, 0.02f);
  const floats x = rig::rounded(d.normal(6 * extent.in), dtype::bf16);
  for (const group_format& f : formats) {
    const coded left = coded_activations(x, f.groups_of(extent.in));
    const coded right = coded_weights(weights, extent.in, f);
    std::vector<double> expected;
    for (std::int64_t row = 0; row < 6; ++row) {
      for (std::int64_t o = 0; o < extent.out; ++o) {
        expected.push_back(0);
        for (std::int64_t k = 0; k < extent.in; ++k)
          expected.back() += left.value({row, k}) * right.value({o, k});
      }
    }
    const tensor rows = r.put(x, {6, extent.in}, dtype::bf16);
    const floats got = rig::decode(product_bytes(r, rows, pack(r, weights, f, extent)), dtype::f32);
    BOOST_TEST(worst_excess(got, expected, {.relative = 1e-6, .absolute = 1e-6}) < 1);
  }
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
      BOOST_TEST(
          (product_bytes(r, row, w) == rounded_chain(coded_activations(x, f.groups_of(extent.in)),
                                                     coded_weights(weights, extent.in, f))));
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

BOOST_AUTO_TEST_CASE(zeros_stay_zeros_and_what_is_not_finite_gives_nan) {
  on_every_version([](rig& r) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const floats ones(128, 1.0f);
    for (const group_format& f : formats) {
      for (const float odd : {0.0f, infinity, -infinity, infinity - infinity}) {
        floats values(128, 0.0f);
        values[70] = odd;
        const auto product = [&](const floats& x, const floats& w) {
          const tensor row = r.put(x, {1, 128}, dtype::f32);
          return rig::decode(product_bytes(r, row, pack(r, w, f, {1, 128})), dtype::f32)[0];
        };
        for (const float got : {product(ones, values), product(values, ones)})
          BOOST_TEST((odd == 0 ? got == 0 : std::isnan(got)), odd);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(the_error_is_the_documented_one_and_so_is_the_size) {
  rig r(instruction_set::plain);
  dice d(35);
  const matrix_extent extent{.out = 64, .in = 4096};
  const auto count = extent.out * extent.in;
  const floats weights = rig::rounded(d.normal(count, 0.02f), dtype::bf16);
  const floats x = rig::rounded(d.normal(count), dtype::bf16);
  for (const group_format& f : formats) {
    const bool eight = f.type == dtype::i8;
    const double of_weights = error_of(coded_weights(weights, extent.in, f), weights);
    const double of_x = error_of(coded_activations(x, f.groups_of(extent.in)), x);
    BOOST_TEST_MESSAGE(to_string(f.type) << ": relative RMS error of weights " << of_weights
                                         << ", of activations " << of_x);
    BOOST_TEST(std::abs(of_weights / (eight ? 0.0055 : 0.08) - 1) < 0.1, of_weights);
    BOOST_TEST(std::abs(of_x / (eight ? 0.0059 : 0.0053) - 1) < 0.1, of_x);
    const double bits =
        8.0 * static_cast<double>(r.op().packed_bytes(extent, f.type)) / static_cast<double>(count);
    BOOST_TEST(bits == (eight ? 8.25 : 4.5));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
