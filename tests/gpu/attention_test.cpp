#include <boost/test/unit_test.hpp>

#include <numeric>
#include <optional>

#include "tests/gpu/rig.hpp"

namespace glimmer {

namespace {

/// A sequence in the test's own words: all its keys, and the positions asked for in this step.
struct sequence_case {
  std::int64_t first = 0;  ///< position of its first row
  std::int64_t rows = 0;
  floats keys;    ///< [first + rows, kv_heads * head_dim], as the cache holds them
  floats values;  ///< likewise
  floats q;       ///< [rows, query_heads * head_dim], as the device holds them
  /// The rows are a block that brings its own keys, and sees the context from here on.
  std::optional<std::int64_t> valid_from;

  std::int64_t length() const { return first + rows; }
  /// Positions below it lie in the cache.
  std::int64_t cached() const { return valid_from ? first : length(); }
};

struct query_and_key {
  std::int64_t position = 0;
  std::int64_t key = 0;
};

/// The mask: causal, or of a block.
bool sees(const sequence_case& s, const attention_shape& shape, query_and_key at) {
  const auto [position, key] = at;
  if (shape.window > 0 && std::abs(position - key) >= shape.window) return false;
  return s.valid_from ? key >= std::min(*s.valid_from, s.first) : key <= position;
}

sequence_case make_sequence(dice& d, const attention_shape& shape, dtype type, row_range rows) {
  sequence_case s{.first = rows.begin, .rows = rows.count, .keys = {}, .values = {}, .q = {}};
  const std::int64_t width = shape.kv_heads * shape.head_dim;
  s.keys = rig::rounded(d.normal(s.length() * width, 1.5f), type);
  s.values = rig::rounded(d.normal(s.length() * width), type);
  s.q = rig::rounded(d.normal(rows.count * shape.query_heads * shape.head_dim, 1.5f), type);
  return s;
}

/// The definition, in f64: softmax over the keys that the mask leaves.
std::vector<double> attend(const sequence_case& s, const attention_shape& shape) {
  std::vector<double> out;
  const std::int64_t dim = shape.head_dim;
  const auto at = [](const floats& v, std::int64_t i) {
    return static_cast<double>(v[static_cast<std::size_t>(i)]);
  };
  for (std::int64_t row = 0; row < s.rows; ++row) {
    const std::int64_t position = s.first + row;
    for (std::int64_t head = 0; head < shape.query_heads; ++head) {
      const std::int64_t kv = head / (shape.query_heads / shape.kv_heads);
      std::vector<double> weight(static_cast<std::size_t>(s.length()), 0.0);
      double total = 0;
      for (std::int64_t key = 0; key < s.length(); ++key) {
        if (!sees(s, shape, {position, key})) continue;
        double dot = 0;
        for (std::int64_t i = 0; i < dim; ++i)
          dot += at(s.q, (row * shape.query_heads + head) * dim + i) *
                 at(s.keys, (key * shape.kv_heads + kv) * dim + i);
        total += weight[static_cast<std::size_t>(key)] = std::exp(dot * shape.scale);
      }
      for (std::int64_t i = 0; i < dim; ++i) {
        double o = 0;
        for (std::int64_t key = 0; key < s.length(); ++key)
          o += weight[static_cast<std::size_t>(key)] / total *
               at(s.values, (key * shape.kv_heads + kv) * dim + i);
        out.push_back(o);
      }
    }
  }
  return out;
}

/// Lays sequences out in a cache of shuffled blocks, full of NaN where nothing is stored, keeps
/// only blocks that the window needs, and runs the op. Returns each sequence's rows as bytes.
class attention_run {
 public:
  attention_run(rig& r, dice& d, const attention_shape& shape, dtype type,
                std::optional<dtype> cache_type = {})
      : r_(r), d_(d), shape_(shape), type_(type), cache_type_(cache_type.value_or(type)) {}

  std::vector<raw_bytes> operator()(const std::vector<sequence_case>& sequences) {
    allot(sequences);
    fill(sequences);
    floats q;
    for (const sequence_case& s : sequences) q.insert(q.end(), s.q.begin(), s.q.end());
    const std::int64_t width = shape_.query_heads * shape_.head_dim;
    const std::int64_t rows = std::ssize(q) / width;
    const tensor queries = r_.put(q, {rows, width}, type_);
    if (sequences.front().valid_from) {
      r_.op().block_attention(r_.stream(), queries, queries, block_of(sequences), layout_, shape_);
    } else {
      r_.op().attention(r_.stream(), queries, queries, cache_, layout_, shape_);
    }
    const raw_bytes all = r_.get_bytes(queries);
    std::vector<raw_bytes> parts;
    auto at = all.begin();
    for (const sequence_case& s : sequences) {
      const auto bytes = s.rows * width * static_cast<std::int64_t>(size_of(type_));
      parts.emplace_back(at, at + bytes);
      at += bytes;
    }
    return parts;
  }

 private:
  /// First block that any row of the sequence sees.
  std::int64_t first_block(const sequence_case& s) const {
    const auto valid = std::min(s.valid_from.value_or(0), s.first);
    const auto window = shape_.window == 0 ? 0 : s.first - shape_.window + 1;
    return std::max<std::int64_t>({0, valid, window}) / shape_.block_size;
  }
  std::int64_t blocks_needed(const sequence_case& s) const {
    if (s.cached() == 0) return 0;
    return std::max<std::int64_t>(0, (s.cached() - 1) / shape_.block_size + 1 - first_block(s));
  }

  /// The rows' own keys, and where each sequence's context begins.
  block_keys block_of(const std::vector<sequence_case>& sequences) {
    const std::int64_t width = shape_.kv_heads * shape_.head_dim;
    floats keys;
    floats values;
    ids valid_from;
    for (const sequence_case& s : sequences) {
      keys.insert(keys.end(), s.keys.begin() + s.first * width, s.keys.end());
      values.insert(values.end(), s.values.begin() + s.first * width, s.values.end());
      valid_from.push_back(static_cast<std::int32_t>(*s.valid_from));
    }
    const std::int64_t rows = std::ssize(keys) / width;
    return {.context = cache_,
            .valid_from = r_.put(valid_from, {std::ssize(valid_from)}),
            .keys = r_.put(keys, {rows, width}, type_),
            .values = r_.put(values, {rows, width}, type_)};
  }

  void allot(const std::vector<sequence_case>& sequences) {
    ids row_begin{0};
    ids first_position;
    ids first;
    std::int64_t columns = 1;
    std::int64_t blocks = 0;
    for (const sequence_case& s : sequences) {
      row_begin.push_back(row_begin.back() + static_cast<std::int32_t>(s.rows));
      first_position.push_back(static_cast<std::int32_t>(s.first));
      first.push_back(static_cast<std::int32_t>(first_block(s)));
      const std::int64_t needed = blocks_needed(s);
      columns = std::max(columns, needed);
      blocks += needed;
    }
    ids free(static_cast<std::size_t>(blocks) + 3);
    std::iota(free.begin(), free.end(), 0);
    d_.shuffle(free);
    table_.assign(sequences.size() * static_cast<std::size_t>(columns), -1);
    columns_ = columns;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const std::int64_t needed = blocks_needed(sequences[i]);
      for (std::int64_t b = 0; b < needed; ++b) {
        table_[i * static_cast<std::size_t>(columns) + static_cast<std::size_t>(b)] = free.back();
        free.pop_back();
      }
    }
    const auto count = std::ssize(sequences);
    blocks_ = blocks + 3;
    layout_ = {.row_begin = r_.put(row_begin, {count + 1}),
               .first_position = r_.put(first_position, {count}),
               .block_table = r_.put(table_, {count, columns}),
               .first_block = r_.put(first, {count})};
    first_ = first;
  }

  void fill(const std::vector<sequence_case>& sequences) {
    const tensor_shape form{blocks_, shape_.kv_heads, shape_.block_size, shape_.head_dim};
    cache_ = {.keys = r_.make(form, cache_type_), .values = r_.make(form, cache_type_)};
    const raw_bytes nothing(cache_.keys.bytes(), std::byte{0xff});  // NaN in every type
    for (const tensor& half : {cache_.keys, cache_.values}) r_.put_bytes(half, nothing);
    const std::int64_t width = shape_.kv_heads * shape_.head_dim;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const sequence_case& s = sequences[i];
      const std::int64_t begin =
          std::max(first_[i] * shape_.block_size, std::min(s.valid_from.value_or(0), s.first));
      if (begin >= s.cached()) continue;
      ids slots;
      for (std::int64_t p = begin; p < s.cached(); ++p) {
        const std::int64_t column = p / shape_.block_size - first_[i];
        const std::int64_t block =
            table_[i * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(column)];
        slots.push_back(
            static_cast<std::int32_t>(block * shape_.block_size + p % shape_.block_size));
      }
      const floats keys(s.keys.begin() + begin * width, s.keys.begin() + s.cached() * width);
      const floats values(s.values.begin() + begin * width, s.values.begin() + s.cached() * width);
      const auto count = std::ssize(slots);
      r_.op().store_kv(r_.stream(), cache_, r_.put(keys, {count, width}, type_),
                       r_.put(values, {count, width}, type_), r_.put(slots, {count}));
    }
  }

  rig& r_;
  dice& d_;
  attention_shape shape_;
  dtype type_;
  dtype cache_type_;
  std::int64_t blocks_ = 0;
  std::int64_t columns_ = 0;
  ids table_;
  ids first_;
  attention_layout layout_;
  kv_cache cache_;
};

struct heads_case {
  std::int64_t query_heads;
  std::int64_t head_dim;
};

attention_shape shape_of(heads_case c) {
  const std::int64_t head_dim = c.head_dim;
  return {.query_heads = c.query_heads,
          .kv_heads = 2,
          .head_dim = head_dim,
          .block_size = 16,
          .window = 0,
          .scale = 1 / std::sqrt(static_cast<float>(head_dim))};
}

attention_shape simple(std::int64_t window = 0) {
  attention_shape shape = shape_of({.query_heads = 4, .head_dim = 32});
  shape.window = window;
  return shape;
}

/// A block of `rows` behind a context that is valid from `valid` on.
struct block_case {
  std::int64_t first;
  std::int64_t rows;
  std::int64_t valid;
};
sequence_case make_block(dice& d, const attention_shape& shape, dtype type, block_case c) {
  auto s = make_sequence(d, shape, type, {c.first, c.rows});
  s.valid_from = c.valid;
  return s;
}

/// Blocks of every kind: no context, none valid, some, a lot, one row, many.
std::vector<sequence_case> assorted_blocks(dice& d, const attention_shape& shape, dtype type) {
  std::vector<sequence_case> blocks;
  for (const auto& c : {block_case{0, 16, 0},
                        {1, 16, 0},
                        {40, 5, 40},
                        {40, 16, 77},
                        {70, 1, 3},
                        {63, 16, 10},
                        {64, 70, 0},
                        {250, 16, 0},
                        {250, 16, 190}}) {
    blocks.push_back(make_block(d, shape, type, c));
  }
  return blocks;
}

/// The rows of a sequence from `cut` on, as a later step would ask for them.
sequence_case rows_of(const sequence_case& s, const attention_shape& shape, row_range rows) {
  sequence_case part = s;
  const std::int64_t width = shape.query_heads * shape.head_dim;
  const std::int64_t kv_width = shape.kv_heads * shape.head_dim;
  part.first = s.first + rows.begin;
  part.rows = rows.count;
  part.q.assign(s.q.begin() + rows.begin * width, s.q.begin() + (rows.begin + rows.count) * width);
  part.keys.resize(static_cast<std::size_t>(part.length() * kv_width));
  part.values.resize(static_cast<std::size_t>(part.length() * kv_width));
  return part;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attention_test)

BOOST_AUTO_TEST_CASE(one_key_is_copied) {
  on_every_version([](rig& r) {
    dice d(20);
    const attention_shape shape = simple();
    const sequence_case s = make_sequence(d, shape, dtype::bf16, {0, 1});
    const floats got = rig::decode(attention_run(r, d, shape, dtype::bf16)({s})[0], dtype::bf16);
    for (std::size_t i = 0; i < got.size(); ++i)
      BOOST_REQUIRE(got[i] == s.values[i / 64 * 32 + i % 32]);
  });
}

BOOST_AUTO_TEST_CASE(every_shape_and_window_agrees_with_f64) {
  on_every_version([](rig& r) {
    dice d(21);
    for (const std::int64_t head_dim : {16, 24, 40, 64, 80, 128, 20}) {
      for (const std::int64_t window : {0, 1, 17, 64, 130}) {
        attention_shape shape =
            shape_of({.query_heads = 2 * (1 + d.below(8)), .head_dim = head_dim});
        shape.window = window;
        const dtype type = d.below(2) == 0 ? dtype::bf16 : dtype::f32;
        const std::vector<sequence_case> sequences{
            make_sequence(d, shape, type, {d.below(200), 1}),
            make_sequence(d, shape, type, {d.below(100), 1 + d.below(70)})};
        const auto got = attention_run(r, d, shape, type)(sequences);
        BOOST_TEST_CONTEXT("head_dim " << head_dim << " window " << window << " heads "
                                       << shape.query_heads << " " << to_string(type)) {
          for (std::size_t i = 0; i < sequences.size(); ++i) {
            const double rounding = type == dtype::bf16 ? 1.0 / 256 : 2e-6;
            BOOST_TEST(worst_excess(rig::decode(got[i], type), attend(sequences[i], shape),
                                    {.relative = rounding, .absolute = 4e-6}) <= 1.0);
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(prefill_in_one_go_chunks_and_single_tokens_give_the_same_bits) {
  on_every_version([](rig& r) {
    dice d(22);
    for (const std::int64_t window : {0, 50}) {
      const attention_shape shape = simple(window);
      const sequence_case whole = make_sequence(d, shape, dtype::bf16, {0, 150});
      const raw_bytes expected = attention_run(r, d, shape, dtype::bf16)({whole})[0];
      for (const std::int64_t chunk : {1, 7, 15, 16, 17, 33}) {
        raw_bytes got;
        for (std::int64_t at = 0; at < whole.rows; at += chunk) {
          const row_range rows{at, std::min(chunk, whole.rows - at)};
          const auto part = rows_of(whole, shape, rows);
          const auto bytes = attention_run(r, d, shape, dtype::bf16)({part})[0];
          got.insert(got.end(), bytes.begin(), bytes.end());
        }
        BOOST_TEST_CONTEXT("window " << window << " chunk " << chunk) {
          BOOST_TEST((got == expected));
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(a_sequence_has_the_same_bits_alone_and_anywhere_among_others) {
  on_every_version([](rig& r) {
    dice d(23);
    const attention_shape shape = simple(40);
    std::vector<sequence_case> sequences;
    for (int i = 0; i < 8; ++i)
      sequences.push_back(
          make_sequence(d, shape, dtype::bf16, {d.below(300), 1 + d.below(i % 2 == 0 ? 1 : 30)}));
    std::vector<raw_bytes> alone;
    for (const auto& s : sequences)
      alone.push_back(attention_run(r, d, shape, dtype::bf16)({s})[0]);
    std::vector<std::size_t> order(sequences.size());
    std::iota(order.begin(), order.end(), 0u);
    for (int round = 0; round < 5; ++round) {
      d.shuffle(order);
      std::vector<sequence_case> batch;
      for (const std::size_t i : order) batch.push_back(sequences[i]);
      const auto together = attention_run(r, d, shape, dtype::bf16)(batch);
      for (std::size_t i = 0; i < order.size(); ++i) BOOST_TEST((together[i] == alone[order[i]]));
    }
  });
}

BOOST_AUTO_TEST_CASE(every_version_and_thread_count_gives_the_same_bits) {
  for (const dtype cache_type : {dtype::bf16, dtype::f32, dtype::f8_e4m3}) {
    const dtype type = cache_type == dtype::f32 ? dtype::f32 : dtype::bf16;
    for (const heads_case heads : {heads_case{10, 20}, {10, 72}, {2, 32}, {32, 128}, {38, 128}}) {
      std::vector<raw_bytes> expected[2];  // by chains, in pairs
      for (const instruction_set set : available_instruction_sets()) {
        for (const unsigned threads : {1u, 2u, 8u}) {
          dice d(24);
          rig r(set, threads);
          attention_shape shape = shape_of(heads);
          shape.window = 100;
          const std::vector<sequence_case> sequences{make_sequence(d, shape, type, {170, 30}),
                                                     make_sequence(d, shape, type, {64, 1})};
          const auto got = attention_run(r, d, shape, type, cache_type)(sequences);
          auto& first = expected[sums_in_pairs(set) && type == dtype::bf16 ? 1 : 0];
          if (first.empty()) first = got;
          BOOST_TEST_CONTEXT(to_string(cache_type)
                             << " " << to_string(set) << " threads " << threads << " heads "
                             << heads.query_heads << " dim " << heads.head_dim) {
            BOOST_TEST((got == first));
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(keys_and_values_in_fp8_are_those_that_e4m3_can_hold) {
  on_every_version([](rig& r) {
    dice d(26);
    const attention_shape shape = simple(70);
    sequence_case s = make_sequence(d, shape, dtype::f32, {100, 40});
    s.values[s.values.size() - 1] = 1e6f;  // saturates
    const auto got = attention_run(r, d, shape, dtype::f32, dtype::f8_e4m3)({s})[0];
    for (floats* half : {&s.keys, &s.values})
      for (float& x : *half) x = widen(to_f8(x));
    BOOST_TEST(worst_excess(rig::decode(got, dtype::f32), attend(s, shape),
                            {.relative = 2e-6, .absolute = 4e-6}) <= 1.0);
  });
}

BOOST_AUTO_TEST_CASE(the_last_position_of_the_longest_context_sees_every_key_and_its_window) {
  dice d(27);
  rig r(available_instruction_sets().back());
  for (const std::int64_t window : {0, 2048}) {
    attention_shape shape = shape_of({.query_heads = 2, .head_dim = 16});
    shape.window = window;
    const sequence_case s = make_sequence(d, shape, dtype::f32, {131'071, 1});
    const auto got = attention_run(r, d, shape, dtype::f32)({s})[0];
    BOOST_TEST(worst_excess(rig::decode(got, dtype::f32), attend(s, shape),
                            {.relative = 1e-5, .absolute = 4e-6}) <= 1.0);
  }
}

BOOST_AUTO_TEST_CASE(blocks_see_both_ways_and_no_further_than_window_and_valid_context) {
  on_every_version([](rig& r) {
    dice d(26);
    for (const std::int64_t head_dim : {16, 20, 128}) {
      for (const std::int64_t window : {0, 1, 9, 64, 130}) {
        for (const dtype type : {dtype::bf16, dtype::f32}) {
          auto shape = shape_of({.query_heads = 6, .head_dim = head_dim});
          shape.window = window;
          const auto blocks = assorted_blocks(d, shape, type);
          const auto got = attention_run(r, d, shape, type)(blocks);
          BOOST_TEST_CONTEXT("head_dim " << head_dim << " window " << window << " "
                                         << to_string(type)) {
            const double rounding = type == dtype::bf16 ? 1.0 / 256 : 2e-6;
            for (std::size_t i = 0; i < blocks.size(); ++i) {
              BOOST_TEST(worst_excess(rig::decode(got[i], type), attend(blocks[i], shape),
                                      {.relative = rounding, .absolute = 4e-6}) <= 1.0);
            }
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(a_block_has_the_same_bits_alone_and_anywhere_among_others) {
  on_every_version([](rig& r) {
    dice d(27);
    const attention_shape shape = simple(49);
    auto blocks = assorted_blocks(d, shape, dtype::bf16);
    std::vector<raw_bytes> alone;
    for (const auto& b : blocks) alone.push_back(attention_run(r, d, shape, dtype::bf16)({b})[0]);
    std::vector<std::size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), 0u);
    for (int round = 0; round < 4; ++round) {
      d.shuffle(order);
      std::vector<sequence_case> batch;
      for (const std::size_t i : order) batch.push_back(blocks[i]);
      const auto together = attention_run(r, d, shape, dtype::bf16)(batch);
      for (std::size_t i = 0; i < order.size(); ++i) BOOST_TEST((together[i] == alone[order[i]]));
    }
  });
}

BOOST_AUTO_TEST_CASE(every_version_and_thread_count_gives_a_block_the_same_bits) {
  for (const dtype type : {dtype::bf16, dtype::f32}) {
    std::vector<raw_bytes> expected[2];  // by chains, in pairs
    for (const instruction_set set : available_instruction_sets()) {
      for (const unsigned threads : {1u, 2u, 8u}) {
        dice d(28);
        rig r(set, threads);
        auto shape = shape_of({.query_heads = 10, .head_dim = 72});
        shape.window = 100;
        const auto got = attention_run(r, d, shape, type)(assorted_blocks(d, shape, type));
        auto& first = expected[sums_in_pairs(set) && type == dtype::bf16 ? 1 : 0];
        if (first.empty()) first = got;
        BOOST_TEST((got == first), to_string(set) << " threads " << threads);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(scores_as_large_as_the_model_allows_do_not_overflow) {
  on_every_version([](rig& r) {
    dice d(25);
    attention_shape shape = simple();
    shape.scale = 40;
    const sequence_case s = make_sequence(d, shape, dtype::f32, {100, 5});
    const floats got = rig::decode(attention_run(r, d, shape, dtype::f32)({s})[0], dtype::f32);
    for (const float value : got) BOOST_REQUIRE(std::isfinite(value));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
