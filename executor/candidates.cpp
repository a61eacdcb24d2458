#include "executor/candidates.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "base/assert.hpp"

namespace glimmer {
namespace {

constexpr std::size_t exp_block = 256;

/// exp of 256 exponents in place. Written out, not libm's: the compiler makes vector code of it,
/// and its bits are the same on every machine. Range reduction x = n ln 2 + r with |r| <= ln 2 / 2,
/// then the Taylor series to degree 7 (remainder 5e-9). Exponents are <= 0; below -64 counts as
/// -64.
void exponentiate(std::array<float, exp_block>& x) {
  constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr float log2_e = 1.44269504f;
  constexpr float ln2_high = 0.693359375f;  // nine bits: n * ln2_high is exact
  constexpr float ln2_low = -2.12194440e-4f;
  for (auto& v : x) {
    const float clipped = v < -64.0f ? -64.0f : v;
    const float n = (clipped * log2_e + to_integer) - to_integer;
    const float r = (clipped - n * ln2_high) - n * ln2_low;
    float series = 1.0f / 5040;
    series = series * r + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 1.0f / 2;
    series = series * r + 1.0f;
    series = series * r + 1.0f;
    const auto exponent_bits = (static_cast<std::int32_t>(n) + 127) << 23;
    v = series * std::bit_cast<float>(exponent_bits);
  }
}

std::uint64_t to_weight(float probability) {
  return static_cast<std::uint64_t>(
      static_cast<std::int64_t>(probability * static_cast<float>(weight_one)));
}

/// An unsigned key in the order of the floats (which hold no NaN).
std::uint32_t order_key(float logit) {
  const auto bits = std::bit_cast<std::uint32_t>(logit + 0.0f);  // -0 becomes +0
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/// Loops over lanes are what the compiler makes vectors of.
constexpr std::size_t lanes = 8;

/// The largest of a run without NaN; -inf for none.
float largest_of(std::span<const float> run) {
  std::array<float, lanes> best;
  best.fill(-std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + lanes <= run.size(); i += lanes)
    for (std::size_t j = 0; j < lanes; ++j) best[j] = std::max(best[j], run[i + j]);
  for (; i < run.size(); ++i) best[0] = std::max(best[0], run[i]);
  return *std::ranges::max_element(best);
}

bool passes(float logit, const gather_rule& rule) {
  return (logit - rule.maximum) * rule.inverse_temperature >= rule.floor;
}

/// Keeps best candidates until their measures reach `budget`: a radix descent over the order keys
/// finds the last key that is kept, and how much of the budget its holders, who all measure the
/// same, may still use.
///
///     keys   [ kept ............ | threshold: the first ties | dropped ... ]
///            budget used before ^                            ^ budget reached
template <class Measure>
void keep_until(std::vector<candidate>& all, std::uint64_t budget, Measure measure) {
  constexpr std::array<unsigned, 3> digit_bits = {12, 10, 10};
  std::uint32_t prefix = 0;
  unsigned bits_left = 32;
  std::array<std::uint64_t, 1 << 12> histogram;
  for (const auto bits : digit_bits) {
    const unsigned known = bits_left;
    bits_left -= bits;
    histogram.fill(0);
    for (const auto& c : all) {
      const std::uint64_t key = order_key(c.logit);
      if (key >> known == prefix) histogram[(key >> bits_left) & ((1u << bits) - 1)] += measure(c);
    }
    auto digit = (1u << bits) - 1;
    while (digit > 0 && histogram[digit] < budget) budget -= histogram[digit--];
    prefix = prefix << bits | digit;
  }
  std::erase_if(all, [&](const candidate& c) {
    const auto key = order_key(c.logit);
    if (key != prefix) return key < prefix;
    if (budget == 0) return true;
    budget -= std::min(budget, measure(c));
    return false;
  });
}

}  // namespace

std::optional<float> row_maximum(std::span<const float> row) {
  constexpr auto infinity = std::numeric_limits<float>::infinity();
  // A NaN loses every comparison of `largest_of`, so it is looked for by itself.
  std::array<std::int32_t, lanes> broken{};
  std::size_t i = 0;
  for (; i + lanes <= row.size(); i += lanes)
    for (std::size_t j = 0; j < lanes; ++j) broken[j] |= !(row[i + j] < infinity);
  for (; i < row.size(); ++i) broken[0] |= !(row[i] < infinity);
  if (std::ranges::any_of(broken, [](auto lane) { return lane != 0; })) return std::nullopt;
  const float maximum = largest_of(row);
  if (maximum == -infinity) return std::nullopt;
  return maximum;
}

token_id lowest_argmax(std::span<const float> row, float maximum) {
  const auto found = std::find(row.begin(), row.end(), maximum);
  GLIMMER_ASSERT(found != row.end(), "the maximum was taken from this row");
  return static_cast<token_id>(found - row.begin());
}

std::uint64_t row_weight(std::span<const float> row, float maximum) {
  std::array<float, exp_block> x;
  std::uint64_t sum = 0;
  for (std::size_t begin = 0; begin < row.size(); begin += exp_block) {
    const auto part = row.subspan(begin, std::min(exp_block, row.size() - begin));
    x.fill(-64.0f);
    for (std::size_t i = 0; i < part.size(); ++i) x[i] = part[i] - maximum;
    exponentiate(x);
    for (const auto probability : x) sum += to_weight(probability);
  }
  return sum;
}

void gather(std::vector<candidate>& out, std::span<const float> row, const gather_rule& rule) {
  out.resize(row.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {  // always write, sometimes advance: no branch
    out[kept] = {static_cast<token_id>(i), row[i], 0};
    kept += passes(row[i], rule) ? 1 : 0;
  }
  out.resize(kept);
}

void gather_best(std::vector<candidate>& out, std::span<const float> row, const gather_rule& rule,
                 std::size_t count) {
  constexpr std::size_t piece = 128;
  std::vector<float> maxima;
  maxima.reserve(row.size() / piece + 1);
  for (std::size_t at = 0; at < row.size(); at += piece)
    maxima.push_back(largest_of(row.subspan(at, std::min(piece, row.size() - at))));
  float least = -std::numeric_limits<float>::infinity();
  if (count > 0 && count < maxima.size()) {
    auto best = maxima;
    const auto nth = best.begin() + static_cast<std::ptrdiff_t>(count) - 1;
    std::ranges::nth_element(best, nth, std::greater{});
    least = *nth;  // `count` tokens have this logit or a better one
  }
  out.clear();
  for (std::size_t p = 0; p < maxima.size(); ++p) {
    if (maxima[p] < least) continue;
    for (std::size_t i = p * piece; i < std::min(row.size(), (p + 1) * piece); ++i)
      if (row[i] >= least && passes(row[i], rule))
        out.push_back({static_cast<token_id>(i), row[i], 0});
  }
  keep_best(out, count);
}

std::uint64_t weigh(std::span<candidate> all, const gather_rule& rule) {
  std::array<float, exp_block> x;
  std::uint64_t sum = 0;
  for (std::size_t begin = 0; begin < all.size(); begin += exp_block) {
    const auto part = all.subspan(begin, std::min(exp_block, all.size() - begin));
    x.fill(-64.0f);
    for (std::size_t i = 0; i < part.size(); ++i)
      x[i] = (part[i].logit - rule.maximum) * rule.inverse_temperature;
    exponentiate(x);
    for (std::size_t i = 0; i < part.size(); ++i) sum += part[i].weight = to_weight(x[i]);
  }
  return sum;
}

void keep_best(std::vector<candidate>& all, std::size_t count) {
  if (count >= all.size()) return;
  keep_until(all, count, [](const candidate&) { return std::uint64_t{1}; });
}

void keep_heaviest(std::vector<candidate>& all, std::uint64_t weight) {
  keep_until(all, weight, [](const candidate& c) { return c.weight; });
}

}  // namespace glimmer
