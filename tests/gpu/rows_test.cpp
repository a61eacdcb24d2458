#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>

#include "tests/gpu/rig.hpp"

namespace glimmer {

namespace {

double one_rounding(dtype type) {
  return type == dtype::bf16 ? 1.0 / 256 : 5e-7;
}

/// An op on rows [rows, width] with everything else it needs already on the device.
using row_op = std::function<void(rig&, tensor x, row_range rows)>;

/// The op gives a row the same bits in every batch, on every version, with one thread or two.
void expect_same_bits(const std::string& name, dice& d, dtype type, const row_op& op) {
  const std::int64_t rows = 33;
  const std::int64_t width = 176;
  const floats values = d.normal(rows * width);
  raw_bytes first;
  for (const instruction_set set : available_instruction_sets()) {
    for (const unsigned threads : {1u, 2u}) {
      BOOST_TEST_CONTEXT(name << " " << to_string(set) << " threads " << threads << " "
                              << to_string(type)) {
        rig r(set, threads);
        const tensor x = r.put(values, {rows, width}, type);
        op(r, x, {0, rows});
        const raw_bytes together = r.get_bytes(x);
        if (first.empty()) first = together;
        BOOST_TEST((together == first));
        const tensor again = r.put(values, {rows, width}, type);
        for (std::int64_t row = rows - 1; row >= 0; --row) op(r, again.rows({row, 1}), {row, 1});
        BOOST_TEST((r.get_bytes(again) == first));
      }
    }
  }
}

struct norm_case {
  norm_kind kind;
  float eps;
  std::int64_t width;
  dtype type;
};

std::vector<double> norm_of(const floats& x, const floats& weight, const norm_case& c) {
  std::vector<double> out;
  const auto width = static_cast<std::size_t>(c.width);
  for (std::size_t begin = 0; begin < x.size(); begin += width) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += double{x[begin + i]} * x[begin + i];
    const double r = 1 / std::sqrt(squares / static_cast<double>(width) + c.eps);
    for (std::size_t i = 0; i < width; ++i) {
      const double scale = c.kind == norm_kind::plain     ? weight[i]
                           : c.kind == norm_kind::centred ? 1.0 + weight[i]
                                                          : 1.0;
      out.push_back(x[begin + i] * r * scale);
    }
  }
  return out;
}

/// Norm, one rounding, scale, half-split rotation by f32 angles, in f64 between the roundings.
std::vector<double> finished(const floats& x, const ids& positions, const head_rules& rules,
                             dtype type) {
  const norm_case norm{norm_kind::weightless, rules.eps, rules.head_dim, type};
  const auto normed_f64 = norm_of(x, {}, norm);
  const floats normed = rig::rounded(floats(normed_f64.begin(), normed_f64.end()), type);
  const auto dim = static_cast<std::size_t>(rules.head_dim);
  const std::size_t heads = x.size() / positions.size() / dim;
  std::vector<double> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = double{normed[i]} * rules.scale;
  if (!rules.rotate) return out;
  for (std::size_t head = 0; head < positions.size() * heads; ++head) {
    for (std::size_t j = 0; j < dim / 2; ++j) {
      const float power = std::pow(rules.rope_theta, static_cast<float>(2 * j) / rules.head_dim);
      const float angle = static_cast<float>(positions[head / heads]) * (1.0f / power);
      double& first = out[head * dim + j];
      double& second = out[head * dim + j + dim / 2];
      const double a = first * std::cos(double{angle}) - second * std::sin(double{angle});
      second = second * std::cos(double{angle}) + first * std::sin(double{angle});
      first = a;
    }
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rows_test)

BOOST_AUTO_TEST_CASE(norms_of_every_kind_agree_with_f64) {
  on_every_version([](rig& r) {
    dice d(31);
    for (const auto kind : {norm_kind::plain, norm_kind::centred, norm_kind::weightless}) {
      for (const std::int64_t width : {1, 8, 16, 72, 6656}) {
        for (const dtype type : {dtype::bf16, dtype::f32}) {
          const norm_case c{kind, width == 72 ? 1e-8f : 1e-5f, width, type};
          const floats x = rig::rounded(d.normal(3 * width, 0.05f), type);
          const floats weight = d.normal(width);
          const tensor out = r.make({3, width}, type);
          r.op().rms_norm(r.stream(), out, r.put(x, {3, width}, type),
                          r.put(weight, {width}, dtype::f32), kind, c.eps);
          BOOST_TEST_CONTEXT("kind " << static_cast<int>(kind) << " width " << width) {
            BOOST_TEST(worst_excess(r.get(out), norm_of(x, weight, c),
                                    {.relative = one_rounding(type), .absolute = 1e-7}) <= 1.0);
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(a_row_of_zeros_is_normed_to_zeros) {
  on_every_version([](rig& r) {
    const tensor x = r.put(floats(32, 0.0f), {1, 32}, dtype::bf16);
    r.op().rms_norm(r.stream(), x, x, tensor{}, norm_kind::weightless, 1e-5f);
    BOOST_TEST(r.get(x) == floats(32, 0.0f), boost::test_tools::per_element());
  });
}

BOOST_AUTO_TEST_CASE(a_centred_norm_forms_its_scale_in_f32) {
  on_every_version([](rig& r) {
    // 1 + 2^-10 is not a bf16; a scale formed there would be lost.
    const floats x(64, 1.0f);
    const tensor out = r.make({1, 64}, dtype::f32);
    r.op().rms_norm(r.stream(), out, r.put(x, {1, 64}, dtype::f32),
                    r.put(floats(64, 0.0009765625f), {64}, dtype::f32), norm_kind::centred, 0.0f);
    BOOST_TEST(r.get(out)[0] == 1.0009765625f);
  });
}

BOOST_AUTO_TEST_CASE(elementwise_ops_agree_with_f64) {
  using function = std::function<double(double, double)>;
  struct elementwise {
    void (ops::*op)(stream_handle, tensor, tensor);
    function f;
  };
  const std::vector<elementwise> all{
      {&ops::add, [](double a, double b) { return a + b; }},
      {&ops::sigmoid_gate, [](double a, double b) { return a / (1 + std::exp(-b)); }},
      {&ops::silu_product, [](double a, double b) { return a / (1 + std::exp(-a)) * b; }}};
  on_every_version([&](rig& r) {
    dice d(32);
    for (const elementwise& e : all) {
      for (const dtype type : {dtype::bf16, dtype::f32}) {
        for (const tensor_shape shape : {tensor_shape{1, 7}, {3, 48}, {5, 9001}}) {
          const floats a = rig::rounded(d.normal(shape.count(), 4), type);
          const floats b = rig::rounded(d.normal(shape.count(), 4), type);
          std::vector<double> expected;
          for (std::size_t i = 0; i < a.size(); ++i) expected.push_back(e.f(a[i], b[i]));
          const tensor x = r.put(a, shape, type);
          (r.op().*e.op)(r.stream(), x, r.put(b, shape, type));
          BOOST_TEST(worst_excess(r.get(x), expected,
                                  {.relative = one_rounding(type), .absolute = 1e-30}) <= 1.0);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(capped_logits_agree_with_f64_and_keep_their_order) {
  on_every_version([](rig& r) {
    dice d(33);
    const floats z = d.normal(20'001, 60);
    const tensor t = r.put(z, {1, 20'001}, dtype::f32);
    r.op().cap_logits(r.stream(), t, {.multiplier = 0.19611613f, .cap = 20});
    std::vector<double> expected;
    for (const float value : z)
      expected.push_back(20 * std::tanh(double{0.19611613f} * value / 20));
    BOOST_TEST(worst_excess(r.get(t), expected, {.relative = 1e-6, .absolute = 1e-7}) <= 1.0);
  });
}

BOOST_AUTO_TEST_CASE(finished_heads_agree_with_f64) {
  on_every_version([](rig& r) {
    dice d(34);
    const ids positions{0, 1, 2047, 131'071, 77};
    for (const std::int64_t dim : {16, 24, 72, 128}) {
      for (const dtype type : {dtype::bf16, dtype::f32}) {
        for (const bool rotate : {false, true}) {
          const head_rules rules{.head_dim = dim,
                                 .eps = 1e-5f,
                                 .scale = 3.87f,
                                 .rotate = rotate,
                                 .rope_theta = 500'000.0f};
          const floats x = rig::rounded(d.normal(5 * 3 * dim), type);
          const tensor t = r.put(x, {5, 3 * dim}, type);
          r.op().finish_heads(r.stream(), t, r.put(positions, {5}), rules);
          // A value near a tie may round to the other neighbour before scale and rotation.
          const double slip = type == dtype::bf16 ? 0.07 : 1e-5;
          BOOST_TEST_CONTEXT("dim " << dim << " rotate " << rotate << " " << to_string(type)) {
            BOOST_TEST(worst_excess(r.get(t), finished(x, positions, rules, type),
                                    {.relative = one_rounding(type), .absolute = slip}) <= 1.0);
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(a_heads_norm_may_have_weights) {
  on_every_version([](rig& r) {
    dice d(39);
    const ids positions{0, 5, 2047};
    for (const std::int64_t dim : {16, 20, 128}) {
      for (const dtype type : {dtype::bf16, dtype::f32}) {
        const floats x = rig::rounded(d.normal(3 * 2 * dim), type);
        const floats ones(static_cast<std::size_t>(dim), 1.0f);
        floats weight = d.normal(dim);
        const auto run = [&](const floats* w, bool rotate) {
          const tensor t = r.put(x, {3, 2 * dim}, type);
          r.op().finish_heads(r.stream(), t, r.put(positions, {3}),
                              {.head_dim = dim,
                               .eps = 1e-5f,
                               .rotate = rotate,
                               .rope_theta = 500'000.0f,
                               .weight = w ? r.put(*w, {dim}, dtype::f32) : tensor{}});
          return r.get(t);
        };
        BOOST_TEST((run(&ones, true) == run(nullptr, true)));
        const floats plain = run(nullptr, false);
        std::vector<double> expected;
        for (std::size_t i = 0; i < plain.size(); ++i)
          expected.push_back(double{plain[i]} * weight[i % static_cast<std::size_t>(dim)]);
        BOOST_TEST(worst_excess(run(&weight, false), expected,
                                {.relative = one_rounding(type), .absolute = 1e-30}) <= 1.0);
        // Weights come before the rotation: a pair of equal ones scales its plane.
        for (std::int64_t i = 0; i < dim / 2; ++i)
          weight[static_cast<std::size_t>(i + dim / 2)] = weight[static_cast<std::size_t>(i)];
        const floats turned = run(nullptr, true);
        expected.clear();
        for (std::size_t i = 0; i < turned.size(); ++i)
          expected.push_back(double{turned[i]} * weight[i % static_cast<std::size_t>(dim)]);
        BOOST_TEST(worst_excess(run(&weight, true), expected,
                                {.relative = 2 * one_rounding(type),
                                 .absolute = type == dtype::bf16 ? 1e-2 : 1e-6}) <= 1.0);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(stored_columns_leave_their_neighbours_alone) {
  on_every_version([](rig& r) {
    dice d(40);
    for (const dtype type : {dtype::bf16, dtype::f32}) {
      floats whole = rig::rounded(d.normal(5 * 50), type);
      const floats part = rig::rounded(d.normal(3 * 17), type);
      const tensor out = r.put(whole, {5, 50}, type);
      r.op().store_columns(r.stream(), out, 20, r.put(part, {3, 17}, type));
      for (std::size_t row = 0; row < 3; ++row)
        std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(row * 17), 17,
                    whole.begin() + static_cast<std::ptrdiff_t>(row * 50 + 20));
      BOOST_TEST((r.get(out) == whole));
    }
  });
}

BOOST_AUTO_TEST_CASE(every_row_op_gives_a_row_the_same_bits_in_every_batch) {
  dice d(35);
  const floats weight = d.normal(176);
  const floats other = d.normal(33 * 176);
  ids positions(33);
  for (auto& p : positions) p = static_cast<std::int32_t>(d.below(131'072));
  for (const dtype type : {dtype::bf16, dtype::f32}) {
    const auto beside = [&](rig& r, row_range rows) {
      return r.put(other, {33, 176}, type).rows(rows);
    };
    expect_same_bits("norm", d, type, [&](rig& r, tensor x, row_range) {
      r.op().rms_norm(r.stream(), x, x, r.put(weight, {176}, dtype::f32), norm_kind::centred,
                      1e-5f);
    });
    expect_same_bits("add", d, type, [&](rig& r, tensor x, row_range rows) {
      r.op().add(r.stream(), x, beside(r, rows));
    });
    expect_same_bits("sigmoid gate", d, type, [&](rig& r, tensor x, row_range rows) {
      r.op().sigmoid_gate(r.stream(), x, beside(r, rows));
    });
    expect_same_bits("silu product", d, type, [&](rig& r, tensor x, row_range rows) {
      r.op().silu_product(r.stream(), x, beside(r, rows));
    });
    expect_same_bits("finish heads", d, type, [&](rig& r, tensor x, row_range rows) {
      r.op().finish_heads(
          r.stream(), x, r.put(positions, {33}).rows(rows),
          {.head_dim = 88, .eps = 1e-5f, .scale = 3.87f, .rotate = true, .rope_theta = 500'000.0f});
    });
  }
  expect_same_bits("cap", d, dtype::f32, [&](rig& r, tensor x, row_range) {
    r.op().cap_logits(r.stream(), x, {.multiplier = 0.2f, .cap = 3});
  });
}

BOOST_AUTO_TEST_CASE(gathered_rows_are_the_tables_rows) {
  on_every_version([](rig& r) {
    dice d(36);
    for (const dtype from : {dtype::bf16, dtype::f16, dtype::f32}) {
      for (const dtype to : {dtype::bf16, dtype::f32}) {
        const floats table = d.normal(9 * 37);
        const ids wanted{8, 0, 3, 3, 8};
        const tensor out = r.make({5, 37}, to);
        r.op().gather_rows(r.stream(), out, r.put(table, {9, 37}, from), r.put(wanted, {5}));
        const floats got = r.get(out);
        const floats held = rig::rounded(rig::rounded(table, from), to);
        for (std::size_t i = 0; i < got.size(); ++i)
          BOOST_REQUIRE(got[i] == held[static_cast<std::size_t>(wanted[i / 37]) * 37 + i % 37]);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(stored_keys_lie_in_their_slots_and_blocks_are_copied_whole) {
  on_every_version([](rig& r) {
    dice d(37);
    const tensor_shape form{3, 2, 4, 8};
    const floats empty(static_cast<std::size_t>(form.count()), -7.0f);
    const kv_cache cache{.keys = r.put(empty, form, dtype::bf16),
                         .values = r.put(empty, form, dtype::bf16)};
    const floats k = rig::rounded(d.normal(2 * 16), dtype::bf16);
    const floats v = rig::rounded(d.normal(2 * 16), dtype::bf16);
    r.op().store_kv(r.stream(), cache, r.put(k, {2, 16}, dtype::bf16),
                    r.put(v, {2, 16}, dtype::bf16), r.put(ids{9, 6}, {2}));
    r.op().copy_block(r.stream(), cache, {.from = 2, .to = 0});
    for (const auto& [part, rows] : {std::pair{cache.keys, k}, {cache.values, v}}) {
      floats expected = empty;
      for (const auto& [row, slot] : {std::pair{0, 9}, {0, 1}, {1, 6}})
        for (int head = 0; head < 2; ++head)
          std::copy_n(rows.begin() + row * 16 + head * 8, 8,
                      expected.begin() + ((slot / 4 * 2 + head) * 4 + slot % 4) * 8);
      BOOST_TEST(r.get(part) == expected, boost::test_tools::per_element());
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
