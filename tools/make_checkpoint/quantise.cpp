#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "tools/make_checkpoint/formats.hpp"
#include "tools/make_checkpoint/weight_rule.hpp"

namespace glimmer {
namespace {

using part = written_tensor::part;

constexpr float e4m3_max = 448;
constexpr float e2m1_max = 6;

/// A small format: mantissas of `units` at exponents from `least`; `most` is its last code.
struct small_format {
  int units;
  int least;
  int most;
};

/// Codes count through all exponents, so a mantissa that rounds up to the next one needs no care.
std::uint8_t nearest_code(float value, const small_format& f) {
  const float magnitude = std::abs(value);
  if (magnitude == 0) return 0;
  const int exponent = std::clamp(std::ilogb(magnitude), f.least, 127);
  const float step = std::ldexp(1.0f / static_cast<float>(f.units), exponent);
  const float code =
      static_cast<float>((exponent - f.least) * f.units) + std::nearbyint(magnitude / step);
  return static_cast<std::uint8_t>(std::min(code, static_cast<float>(f.most)));
}

struct place {
  std::int64_t row;
  std::int64_t column;
};

struct matrix {
  std::int64_t out;
  std::int64_t in;
  std::vector<float> values;

  float at(place p) const { return values[static_cast<std::size_t>(p.row * in + p.column)]; }
  /// Largest magnitude of a block, cut at the edges.
  float largest(row_range rows, row_range columns) const {
    float most = 0;
    for (auto r = rows.begin; r < std::min(out, rows.begin + rows.count); ++r) {
      for (auto c = columns.begin; c < std::min(in, columns.begin + columns.count); ++c) {
        most = std::max(most, std::abs(at({r, c})));
      }
    }
    return most;
  }
  float largest() const { return largest({0, out}, {0, in}); }
};

matrix values_of(const model_config& config, const expected_tensor& t) {
  matrix m{t.shape[0], t.shape[1], {}};
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(m.out * m.in));
  fill_weights(config, t, 0, bits);
  for (const auto b : bits) {
    m.values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16));
  }
  return m;
}

template <class T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto bytes = std::as_bytes(std::span{&value, 1});
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// bf16 bits of the scale of the 128 x 128 block that holds an element.
std::uint16_t block_scale(const matrix& m, place p) {
  const float most = m.largest({p.row / 128 * 128, 128}, {p.column / 128 * 128, 128});
  return bf16_bits(most == 0 ? 1.0f : most / e4m3_max);
}

std::vector<std::byte> fp8_block_data(const matrix& m, part what) {
  std::vector<std::byte> data;
  for (std::int64_t top = 0; top < m.out; top += 128) {
    std::vector<std::uint16_t> scales;
    for (std::int64_t left = 0; left < m.in; left += 128) {
      scales.push_back(block_scale(m, {top, left}));
      if (what == part::scales) append(data, scales.back());
    }
    if (what == part::scales) continue;
    for (auto r = top; r < std::min(m.out, top + 128); ++r) {
      for (std::int64_t c = 0; c < m.in; ++c) {
        const auto bits = static_cast<std::uint32_t>(scales[static_cast<std::size_t>(c / 128)]);
        append(data, e4m3_code(m.at({r, c}) / std::bit_cast<float>(bits << 16)));
      }
    }
  }
  return data;
}

std::vector<std::byte> fp8_tensor_data(const matrix& m, part what) {
  const float scale = m.largest() / e4m3_max;
  std::vector<std::byte> data;
  if (what == part::input_scale) append(data, 0.02f);
  if (what == part::scales) append(data, scale);
  if (what == part::values) {
    for (const float w : m.values) append(data, e4m3_code(w / scale));
  }
  return data;
}

/// ModelOpt stores the factor on block scales, compressed-tensors its reciprocal.
std::vector<std::byte> nvfp4_data(const matrix& m, part what, bool reciprocal) {
  const float most = m.largest();
  const float factor = reciprocal ? e2m1_max * e4m3_max / most : most / (e2m1_max * e4m3_max);
  std::vector<std::byte> data;
  if (what == part::factor) append(data, factor);
  if (what == part::input_scale) append(data, reciprocal ? 96.0f : 0.01f);
  if (what != part::values && what != part::scales) return data;
  for (std::int64_t row = 0; row < m.out; ++row) {
    for (std::int64_t left = 0; left < m.in; left += 16) {
      const float sixth = m.largest({row, 1}, {left, 16}) / e2m1_max;
      const auto code =
          std::max<std::uint8_t>(1, e4m3_code(reciprocal ? sixth * factor : sixth / factor));
      if (what == part::scales) {
        append(data, code);
        continue;
      }
      const float scale = reciprocal ? e4m3_value(code) / factor : e4m3_value(code) * factor;
      for (auto c = left; c < left + 16; c += 2) {
        const auto low = e2m1_code(m.at({row, c}) / scale);
        const auto high = e2m1_code(m.at({row, c + 1}) / scale);
        append(data, static_cast<std::uint8_t>(low | high << 4));
      }
    }
  }
  return data;
}

}  // namespace

std::uint8_t e4m3_code(float value) {
  const auto code = nearest_code(value, {.units = 8, .least = -6, .most = 0x7E});
  return static_cast<std::uint8_t>(code | (std::signbit(value) ? 0x80 : 0));
}

std::uint8_t e2m1_code(float value) {
  const auto code = nearest_code(value, {.units = 2, .least = 0, .most = 7});
  return static_cast<std::uint8_t>(code | (std::signbit(value) ? 8 : 0));
}

float e4m3_value(std::uint8_t code) {
  const int exponent = std::max(code >> 3 & 15, 1);
  const int units = (code & 7) + (code >> 3 & 15 ? 8 : 0);
  const float magnitude = std::ldexp(static_cast<float>(units), exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

std::vector<std::byte> quantised_data(const model_config& config, const written_tensor& tensor) {
  const auto m = values_of(config, tensor.source);
  switch (tensor.scheme) {
    case weight_scheme::plain: return {};
    case weight_scheme::fp8_block: return fp8_block_data(m, tensor.what);
    case weight_scheme::fp8_tensor: return fp8_tensor_data(m, tensor.what);
    case weight_scheme::nvfp4: return nvfp4_data(m, tensor.what, false);
    case weight_scheme::nvfp4_packed: return nvfp4_data(m, tensor.what, true);
  }
  return {};
}

}  // namespace glimmer
