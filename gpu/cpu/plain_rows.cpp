#include <cmath>

#include "gpu/cpu/bf16.hpp"
#include "gpu/cpu/elementary.hpp"
#include "gpu/cpu/plain.hpp"

namespace glimmer {

namespace {

template <class T>
const T* begin_of(const_elements x) {
  return static_cast<const T*>(x.data);
}

template <class T>
T* begin_of(elements x) {
  return static_cast<T*>(x.data);
}

/// x[i] = narrow(f(x[i], y[i])) for both activation types.
template <class Function>
void combine(elements x, const_elements y, std::int64_t count, const Function& f) {
  with_activation(x.type, [&](auto tag) {
    using T = decltype(tag);
    T* const left = begin_of<T>(x);
    const T* const right = begin_of<T>(y);
    for (std::int64_t i = 0; i < count; ++i)
      left[i] = narrow<T>(f(widen(left[i]), widen(right[i])));
  });
}

/// 1 / sqrt(mean(x^2) + eps)
template <class T>
float inverse_rms(const T* x, std::int64_t width, float eps) {
  lane_sums squares{};
  for (std::int64_t i = 0; i < width; ++i) {
    float& lane = squares[static_cast<std::size_t>(i) % lane_count];
    lane = std::fma(widen(x[i]), widen(x[i]), lane);
  }
  return 1.0f / std::sqrt(fold(squares) / static_cast<float>(width) + eps);
}

float norm_scale(const norm_row& row, std::int64_t i) {
  switch (row.kind) {
    case norm_kind::plain: return row.weight[i];
    case norm_kind::centred: return 1.0f + row.weight[i];
    case norm_kind::weightless: break;
  }
  return 1.0f;
}

}  // namespace

void plain_convert(elements out, const_elements x, std::int64_t count) {
  with_cached(out.type, [&](auto to) {
    with_weight(x.type, [&](auto from) {
      using To = decltype(to);
      using From = decltype(from);
      for (std::int64_t i = 0; i < count; ++i)
        begin_of<To>(out)[i] = narrow<To>(widen(begin_of<From>(x)[i]));
    });
  });
}

void plain_norm(elements out, const_elements x, const norm_row& row) {
  with_activation(x.type, [&](auto tag) {
    using T = decltype(tag);
    const T* const from = begin_of<T>(x);
    const float r = inverse_rms(from, row.width, row.eps);
    for (std::int64_t i = 0; i < row.width; ++i)
      begin_of<T>(out)[i] = narrow<T>(widen(from[i]) * r * norm_scale(row, i));
  });
}

void plain_add(elements h, const_elements u, std::int64_t count) {
  combine(h, u, count, [](float a, float b) { return a + b; });
}

void plain_sigmoid_gate(elements o, const_elements g, std::int64_t count) {
  combine(o, g, count, [](float value, float gate) { return value * sigmoid_f32(gate); });
}

void plain_silu_product(elements gate, const_elements up, std::int64_t count) {
  combine(gate, up, count, [](float g, float u) { return silu_f32(g) * u; });
}

void plain_cap(float* z, std::int64_t count, const logit_cap& rule) {
  for (std::int64_t i = 0; i < count; ++i)
    z[i] = rule.cap * tanh_f32(rule.multiplier * z[i] / rule.cap);
}

void plain_finish_head(elements x, const head_row& row) {
  with_activation(x.type, [&](auto tag) {
    using T = decltype(tag);
    T* const head = begin_of<T>(x);
    const float r = inverse_rms(head, row.head_dim, row.eps);
    const auto scaled = [&](std::int64_t i) {
      const float y = widen(narrow<T>(widen(head[i]) * r)) * row.scale;
      return row.weight != nullptr ? y * row.weight[i] : y;
    };
    if (row.cosines == nullptr) {
      for (std::int64_t i = 0; i < row.head_dim; ++i) head[i] = narrow<T>(scaled(i));
      return;
    }
    const std::int64_t half = row.head_dim / 2;
    for (std::int64_t i = 0; i < half; ++i) {
      const float first = scaled(i);
      const float second = scaled(i + half);
      head[i] = narrow<T>(first * row.cosines[i] - second * row.sines[i]);
      head[i + half] = narrow<T>(second * row.cosines[i] + first * row.sines[i]);
    }
  });
}

void plain_divide(elements out, const float* x, std::int64_t count, float divisor) {
  with_activation(out.type, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < count; ++i) begin_of<T>(out)[i] = narrow<T>(x[i] / divisor);
  });
}

}  // namespace glimmer
