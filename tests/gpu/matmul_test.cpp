#include <boost/test/unit_test.hpp>

#include "tests/gpu/products.hpp"

namespace glimmer {

namespace {

struct matmul_case {
  std::int64_t rows;
  matrix_extent extent;
  dtype x;
  dtype w;
  dtype out;
};

/// x w^T in f64, from the values as the device holds them.
struct product {
  std::vector<double> value;
  std::vector<double> size;  // sum of |x w|: the scale of rounding errors
};

product product_of(const floats& x, const floats& w, const matmul_case& c) {
  product p;
  for (std::int64_t row = 0; row < c.rows; ++row) {
    for (std::int64_t out = 0; out < c.extent.out; ++out) {
      double sum = 0;
      double size = 0;
      for (std::int64_t k = 0; k < c.extent.in; ++k) {
        const double term =
            static_cast<double>(x[static_cast<std::size_t>(row * c.extent.in + k)]) *
            w[static_cast<std::size_t>(out * c.extent.in + k)];
        sum += term;
        size += std::abs(term);
      }
      p.value.push_back(sum);
      p.size.push_back(size);
    }
  }
  return p;
}

/// Each sum is right within f32 rounding of its terms, and one bf16 rounding if that is asked for.
void expect_product(rig& r, dice& d, const matmul_case& c) {
  BOOST_TEST_CONTEXT("rows " << c.rows << " out " << c.extent.out << " in " << c.extent.in << " x "
                             << to_string(c.x) << " w " << to_string(c.w) << " out type "
                             << to_string(c.out)) {
    const floats x = d.normal(c.rows * c.extent.in);
    const floats w = d.normal(c.extent.out * c.extent.in, 0.1f);
    const tensor out = r.make({c.rows, c.extent.out}, c.out);
    r.op().matmul(r.stream(), out, r.put(x, {c.rows, c.extent.in}, c.x), r.pack(w, c.extent, c.w));
    const floats got = r.get(out);
    const product expected = product_of(rig::rounded(x, c.x), rig::rounded(w, c.w), c);
    const double rounding = c.out == dtype::bf16 ? 1.0 / 256 : 1e-7;
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double allowed = 3e-7 * expected.size[i] + rounding * std::abs(expected.value[i]);
      worst = std::max(worst, std::abs(got[i] - expected.value[i]) / allowed);
    }
    BOOST_TEST(worst <= 1.0);
  }
}

/// Rows of `whole` computed alone have the bits they have inside the batch.
void expect_rows_alone(rig& r, const tensor& x, const packed_matrix& w, dtype out_type) {
  const std::int64_t rows = x.shape[0];
  const tensor together = r.make({rows, w.out}, out_type);
  r.op().matmul(r.stream(), together, x, w);
  const raw_bytes all = r.get_bytes(together);
  const tensor alone = r.make({1, w.out}, out_type);
  for (std::int64_t row = 0; row < rows; ++row) {
    r.op().matmul(r.stream(), alone, x.rows({row, 1}), w);
    const raw_bytes one = r.get_bytes(alone);
    BOOST_REQUIRE(std::equal(one.begin(), one.end(), all.begin() + row * std::ssize(one)));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matmul_test)

BOOST_AUTO_TEST_CASE(a_small_product_is_exact) {
  on_every_version([](rig& r) {
    const tensor out = r.make({2, 3}, dtype::f32);
    r.op().matmul(r.stream(), out, r.put({1, 2, 3, -1, 0.5f, 4}, {2, 3}, dtype::bf16),
                  r.pack({1, 0, 0, 0, 1, 0, 1, 1, 1}, {3, 3}, dtype::bf16));
    const floats expected{1, 2, 6, -1, 0.5f, 3.5f};
    BOOST_TEST(r.get(out) == expected, boost::test_tools::per_element());
  });
}

BOOST_AUTO_TEST_CASE(products_of_every_type_and_odd_shape_agree_with_f64) {
  on_every_version([](rig& r) {
    dice d(11);
    const std::vector<matmul_case> types{
        {5, {80, 96}, dtype::bf16, dtype::bf16, dtype::bf16},
        {5, {80, 96}, dtype::bf16, dtype::bf16, dtype::f32},
        {5, {80, 96}, dtype::bf16, dtype::f16, dtype::bf16},
        {5, {80, 96}, dtype::bf16, dtype::f32, dtype::bf16},
        {5, {80, 96}, dtype::f32, dtype::bf16, dtype::f32},
        {5, {80, 96}, dtype::f32, dtype::f16, dtype::f32},
        {5, {80, 96}, dtype::f32, dtype::f32, dtype::f32},
    };
    for (const matmul_case& c : types) expect_product(r, d, c);
    for (int i = 0; i < 12; ++i) {
      matmul_case c = types[static_cast<std::size_t>(d.below(std::ssize(types)))];
      c.rows = 1 + d.below(40);
      c.extent = {.out = 1 + d.below(150), .in = 1 + d.below(700)};
      expect_product(r, d, c);
    }
    expect_product(r, d, {300, {33, 1100}, dtype::bf16, dtype::bf16, dtype::bf16});
  });
}

BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_in_a_batch_of_any_size) {
  on_every_version([](rig& r) {
    dice d(12);
    for (const dtype type : {dtype::bf16, dtype::f32}) {
      const matrix_extent extent{.out = 130, .in = 1031};
      const packed_matrix w = r.pack(d.normal(extent.out * extent.in), extent, type);
      for (std::int64_t rows = 1; rows <= 33; rows += rows < 14 ? 1 : 19) {
        BOOST_TEST_CONTEXT("rows " << rows) {
          const tensor x = r.put(d.normal(rows * extent.in), {rows, extent.in}, type);
          expect_rows_alone(r, x, w, type);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(every_version_and_thread_count_gives_the_bits_of_the_contract) {
  dice d(13);
  const matrix_extent extent{.out = 200, .in = 777};
  const floats x = rig::rounded(d.normal(40 * extent.in), dtype::bf16);
  for (const dtype type : {dtype::bf16, dtype::f16, dtype::f32}) {
    const floats weights = rig::rounded(d.normal(extent.out * extent.in), type);
    const raw_bytes chain = chain_of(x, weights, extent);
    const raw_bytes pairs = sums_of_pairs(x, weights, extent);
    for (const instruction_set set : available_instruction_sets()) {
      for (const unsigned threads : {1u, 2u, 3u}) {
        BOOST_TEST_CONTEXT(to_string(type) << " " << to_string(set) << " threads " << threads) {
          rig r(set, threads);
          const raw_bytes got = product_bytes(r, r.put(x, {40, extent.in}, dtype::bf16),
                                              r.pack(weights, extent, type));
          const bool in_pairs = sums_in_pairs(set) && type == dtype::bf16;
          BOOST_TEST((got == (in_pairs ? pairs : chain)));
        }
      }
    }
  }
}

/// Numbers around the smallest normal one, where tiles take what is smaller for zero.
floats tiny_numbers(dice& d, std::int64_t count) {
  floats values = d.normal(count);
  for (float& value : values) {
    constexpr float sizes[] = {1.0f, 1e-19f, 1e-38f, 1e-40f, 0.0f};
    value *= sizes[d.below(std::ssize(sizes))];
  }
  return rig::rounded(values, dtype::bf16);
}

BOOST_AUTO_TEST_CASE(pairs_are_summed_alike_by_tiles_and_by_the_plain_loop) {
  dice d(15);
  const matrix_extent extent{.out = 16, .in = 94};
  const floats x = tiny_numbers(d, 33 * extent.in);
  const floats weights = tiny_numbers(d, extent.out * extent.in);
  const raw_bytes expected = sums_of_pairs(x, weights, extent);
  on_every_version([&](rig& r) {
    if (!sums_in_pairs(r.device().instructions())) return;
    BOOST_TEST((product_bytes(r, r.put(x, {33, extent.in}, dtype::bf16),
                              r.pack(weights, extent, dtype::bf16)) == expected));
  });
}

BOOST_AUTO_TEST_CASE(a_matrix_packed_in_pieces_equals_one_packed_at_once) {
  on_every_version([](rig& r) {
    dice d(14);
    const matrix_extent extent{.out = 75, .in = 33};
    for (const dtype type : {dtype::bf16, dtype::f16, dtype::f32}) {
      const floats values = d.normal(extent.out * extent.in);
      const packed_matrix whole = r.pack(values, extent, type);
      packed_matrix pieces = whole;
      pieces.storage = r.make(whole.storage.shape, dtype::u8);
      const tensor rows = r.put(values, {extent.out, extent.in}, type);
      for (const row_range part : {row_range{40, 35}, row_range{0, 7}, row_range{7, 33}})
        r.op().pack(r.stream(), pieces, part.begin, rows.rows(part));
      const tensor x = r.put(d.normal(3 * extent.in), {3, extent.in}, dtype::bf16);
      const tensor a = r.make({3, extent.out}, dtype::f32);
      const tensor b = r.make({3, extent.out}, dtype::f32);
      r.op().matmul(r.stream(), a, x, whole);
      r.op().matmul(r.stream(), b, x, pieces);
      BOOST_TEST((r.get_bytes(a) == r.get_bytes(b)));
    }
  });
}

BOOST_AUTO_TEST_CASE(a_row_of_nan_spoils_no_other_row) {
  on_every_version([](rig& r) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const tensor out = r.make({3, 2}, dtype::bf16);
    r.op().matmul(r.stream(), out, r.put({1, 2, nan, nan, 3, 4}, {3, 2}, dtype::bf16),
                  r.pack({1, 1, 1, -1}, {2, 2}, dtype::bf16));
    const floats got = r.get(out);
    BOOST_TEST((got[0] == 3 && got[1] == -1 && got[4] == 7 && got[5] == -1));
    BOOST_TEST((std::isnan(got[2]) && std::isnan(got[3])));
  });
}

BOOST_AUTO_TEST_CASE(no_rows_are_no_work) {
  on_every_version([](rig& r) {
    const packed_matrix w = r.pack({1, 2, 3, 4}, {2, 2}, dtype::bf16);
    r.op().matmul(r.stream(), r.make({0, 2}, dtype::bf16), r.make({0, 2}, dtype::bf16), w);
    r.device().wait(r.device().record(r.stream()));
    BOOST_TEST(r.device().reached(r.device().record(r.stream())));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
