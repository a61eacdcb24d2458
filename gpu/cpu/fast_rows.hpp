#pragma once

#include "gpu/cpu/fast_math.hpp"
#include "gpu/cpu/kernels.hpp"
#include "gpu/cpu/plain.hpp"

namespace glimmer {

// Row kernels over vectors of 16 lanes; the contract is in kernels.hpp, the judge plain_rows.cpp.

/// x[i] = f(x[i], y[i]), one rounding.
template <class L, class Function>
void fast_combine(elements x, const_elements y, std::int64_t count, const Function& f) {
  with_activation(x.type, [&](auto tag) {
    using T = decltype(tag);
    T* const left = static_cast<T*>(x.data);
    const T* const right = static_cast<const T*>(y.data);
    in_blocks<L>(count, [&](std::int64_t i, auto lanes) {
      f(L::load(left + i, lanes), L::load(right + i, lanes)).store(left + i, lanes);
    });
  });
}

template <class L>
void fast_add(elements h, const_elements u, std::int64_t count) {
  fast_combine<L>(h, u, count, [](L a, L b) { return a + b; });
}

template <class L>
void fast_sigmoid_gate(elements o, const_elements g, std::int64_t count) {
  fast_combine<L>(o, g, count, [](L value, L gate) { return value * sigmoid_of(gate); });
}

template <class L>
void fast_silu_product(elements gate, const_elements up, std::int64_t count) {
  fast_combine<L>(gate, up, count, [](L g, L u) { return silu_of(g) * u; });
}

template <class L>
void fast_convert(elements out, const_elements x, std::int64_t count) {
  // Only new keys and values become f8: too few to be worth a second version.
  if (out.type == dtype::f8_e4m3) return plain_convert(out, x, count);
  with_activation(out.type, [&](auto to) {
    with_weight(x.type, [&](auto from) {
      auto* const target = static_cast<decltype(to)*>(out.data);
      const auto* const source = static_cast<const decltype(from)*>(x.data);
      in_blocks<L>(count, [&](std::int64_t i, auto lanes) {
        L::load(source + i, lanes).store(target + i, lanes);
      });
    });
  });
}

template <class L>
void fast_divide(elements out, const float* x, std::int64_t count, float divisor) {
  with_activation(out.type, [&](auto tag) {
    auto* const target = static_cast<decltype(tag)*>(out.data);
    in_blocks<L>(count, [&](std::int64_t i, auto lanes) {
      (L::load(x + i, lanes) / L::all(divisor)).store(target + i, lanes);
    });
  });
}

template <class L>
void fast_cap(float* z, std::int64_t count, const logit_cap& rule) {
  const L multiplier = L::all(rule.multiplier);
  const L cap = L::all(rule.cap);
  in_blocks<L>(count, [&](std::int64_t i, auto lanes) {
    (cap * tanh_of(multiplier * L::load(z + i, lanes) / cap)).store(z + i, lanes);
  });
}

template <class L, class T>
L fast_inverse_rms(const T* x, std::int64_t width, float eps) {
  L squares = L::zero();
  in_blocks<L>(width, [&](std::int64_t i, auto lanes) {
    const L value = L::load(x + i, lanes);
    squares = L::fma(value, value, squares);
  });
  const L mean = L::all(squares.sum()) / L::all(static_cast<float>(width));
  return L::all(1.0f) / (mean + L::all(eps)).root();
}

template <class L>
void fast_norm(elements out, const_elements x, const norm_row& row) {
  with_activation(x.type, [&](auto tag) {
    using T = decltype(tag);
    const T* const from = static_cast<const T*>(x.data);
    T* const to = static_cast<T*>(out.data);
    const L r = fast_inverse_rms<L>(from, row.width, row.eps);
    in_blocks<L>(row.width, [&](std::int64_t i, auto lanes) {
      L y = L::load(from + i, lanes) * r;
      if (row.kind == norm_kind::plain) y = y * L::load(row.weight + i, lanes);
      if (row.kind == norm_kind::centred) y = y * (L::all(1.0f) + L::load(row.weight + i, lanes));
      y.store(to + i, lanes);
    });
  });
}

template <class L>
void fast_finish_head(elements x, const head_row& row) {
  with_activation(x.type, [&](auto tag) {
    using T = decltype(tag);
    T* const head = static_cast<T*>(x.data);
    const L r = fast_inverse_rms<L>(head, row.head_dim, row.eps);
    const auto scaled = [&](std::int64_t i, auto lanes) {
      const L y = (L::load(head + i, lanes) * r).rounded(T{}) * L::all(row.scale);
      return row.weight != nullptr ? y * L::load(row.weight + i, lanes) : y;
    };
    if (row.cosines == nullptr) {
      in_blocks<L>(row.head_dim,
                   [&](std::int64_t i, auto lanes) { scaled(i, lanes).store(head + i, lanes); });
      return;
    }
    const std::int64_t half = row.head_dim / 2;
    in_blocks<L>(half, [&](std::int64_t i, auto lanes) {
      const L first = scaled(i, lanes);
      const L second = scaled(i + half, lanes);
      const L c = L::load(row.cosines + i, lanes);
      const L s = L::load(row.sines + i, lanes);
      (first * c - second * s).store(head + i, lanes);
      (second * c + first * s).store(head + i + half, lanes);
    });
  });
}

}  // namespace glimmer
