#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/cpu/elements.hpp"
#include "gpu/cpu/exp_terms.hpp"

namespace glimmer {

// Vector versions of elementary.hpp over a type L of 16 lanes, which each instruction set supplies
// (see avx512.cpp). Everything here is a template, so that code compiled for one processor is never
// shared with the rest of the program. Same operations, same order, same bits as the plain version.

inline constexpr std::int64_t lanes_of_block = 16;

/// How much of a block of 16 elements is there.
struct all_lanes {};
struct first_lanes {
  int count;
};

/// Calls body(offset, all_lanes or first_lanes) over `count` elements.
template <class L, class Body>
void in_blocks(std::int64_t count, const Body& body) {
  std::int64_t at = 0;
  for (; at + lanes_of_block <= count; at += lanes_of_block) body(at, all_lanes{});
  if (at < count) body(at, first_lanes{static_cast<int>(count - at)});
}

template <class L>
struct exp_split {
  L tail;
  L first_power;
  L second_power;
};

template <class L>
[[gnu::always_inline]] inline exp_split<L> split_exp(L x) {
  using t = exp_terms;
  const L shift = L::all(t::shift);
  const L shifted = L::fma(x, L::all(t::log2_e), shift);
  const L n = shifted - shift;
  L r = L::fma(n, L::all(-t::ln2_high), x);
  r = L::fma(n, L::all(-t::ln2_low), r);
  L p = L::all(t::c7);
  p = L::fma(p, r, L::all(t::c6));
  p = L::fma(p, r, L::all(t::c5));
  p = L::fma(p, r, L::all(t::c4));
  p = L::fma(p, r, L::all(t::c3));
  p = L::fma(p, r, L::all(t::c2));
  p = L::fma(p * r, r, r);
  exp_split<L> e{.tail = p, .first_power = L::zero(), .second_power = L::zero()};
  L::powers_of_two(shifted, e.first_power, e.second_power);
  return e;
}

template <class L>
[[gnu::always_inline]] inline L exp_of(L x) {
  using t = exp_terms;
  const auto e = split_exp(L::min_of(L::all(t::highest), L::max_of(L::all(t::lowest), x)));
  return (e.tail + L::all(1.0f)) * e.first_power * e.second_power;
}

template <class L>
L tanh_of(L x) {
  const auto e = split_exp(L::min_of(L::all(exp_terms::tanh_limit), L::all(2.0f) * x.magnitude()));
  const L power = e.first_power * e.second_power;
  const L t = L::fma(power, e.tail, power - L::all(1.0f));
  return (t / (t + L::all(2.0f))).with_sign_of(x);
}

template <class L>
L sigmoid_of(L x) {
  return L::all(1.0f) / (L::all(1.0f) + exp_of(x.negated()));
}

template <class L>
L silu_of(L x) {
  return x / (L::all(1.0f) + exp_of(x.negated()));
}

}  // namespace glimmer
