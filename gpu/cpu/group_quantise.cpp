#include "gpu/cpu/group_quantise.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "gpu/cpu/bf16.hpp"
#include "gpu/cpu/packing.hpp"

// Loading waits for this: a version for each width of vectors. They differ in nothing else.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define GLIMMER_FOR_EACH_WIDTH [[gnu::target_clones("default", "avx2", "avx512f")]]
#else
#define GLIMMER_FOR_EACH_WIDTH
#endif

namespace glimmer {

namespace {

constexpr std::uint32_t infinite = 0x7f800000u;

[[gnu::always_inline]] inline std::uint32_t magnitude_bits(float x) {
  return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu;
}

/// Weights of one scale, padded with zeros: of fixed size, so that loops over them become vectors.
template <std::size_t Size>
using weight_group = std::array<float, Size>;

/// The largest magnitude as bits, which order as the values do: a NaN is above all.
template <std::size_t Size>
[[gnu::always_inline]] inline std::uint32_t largest_magnitude(const weight_group<Size>& group) {
  std::uint32_t most = 0;
  for (const float w : group) most = std::max(most, magnitude_bits(w));
  return most;
}

/// The first weight of the largest magnitude. Bits of positive weights order as the numbers do, and
/// those of negative ones, which are above them, by magnitude.
template <std::size_t Size>
[[gnu::always_inline]] inline float first_extreme(const weight_group<Size>& group) {
  std::int32_t highest = 0;
  std::uint32_t lowest = 0;
  for (const float w : group) {
    highest = std::max(highest, std::bit_cast<std::int32_t>(w));
    lowest = std::max(lowest, std::bit_cast<std::uint32_t>(w));
  }
  const float above = std::bit_cast<float>(highest);
  const float below = std::bit_cast<float>(lowest);
  const std::uint32_t most = std::max(magnitude_bits(above), magnitude_bits(below));
  if (magnitude_bits(below) < most) return above;
  if (magnitude_bits(above) < most) return below;
  return *std::ranges::find_if(group, [&](float w) { return magnitude_bits(w) == most; });
}

/// To nearest, ties to even, for the small numbers that occur here.
[[gnu::always_inline]] inline float rounded(float x) {
  constexpr float shift = 12582912.0f;  // 1.5 * 2^23
  return (x + shift) - shift;
}

/// Codes that a format has.
struct code_range {
  float lowest = 0;
  float highest = 0;
};

/// Codes of a group: round(w / scale), within `range`.
template <std::size_t Size>
[[gnu::always_inline]] inline std::array<std::int8_t, Size> codes_of(
    const weight_group<Size>& group, float scale, code_range range) {
  std::array<std::int8_t, Size> codes{};
  if (scale == 0 || magnitude_bits(scale) >= infinite) return codes;
  for (std::size_t i = 0; i < Size; ++i) {
    const float code = std::clamp(rounded(group[i] / scale), range.lowest, range.highest);
    codes[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(code));
  }
  return codes;
}

/// Rounds a scale, stores it, and returns what was stored. Groups that are not finite get NaN, so
/// that all their weights are.
[[gnu::always_inline]] inline float store_scale(std::byte* at, float scale) {
  if (magnitude_bits(scale) >= infinite) scale = std::bit_cast<float>(0x7fc00000u);
  const bf16 stored = to_bf16(scale);
  std::memcpy(at, &stored, sizeof stored);
  return widen(stored);
}

/// The group that begins at column `k` of a row.
template <std::size_t Size>
[[gnu::always_inline]] inline weight_group<Size> group_at(const weight_run& row, std::int64_t k) {
  weight_group<Size> group;
  const std::int64_t left = row.count - k;
  if (left >= static_cast<std::int64_t>(Size)) {
    std::memcpy(group.data(), row.values + k, sizeof group);  // of a size that is known
  } else {
    std::fill(std::copy_n(row.values + k, left, group.begin()), group.end(), 0.0f);
  }
  return group;
}

}  // namespace

GLIMMER_FOR_EACH_WIDTH
void quantise_i8(std::byte* panel, std::int64_t lane, const weight_run& row) {
  for (std::int64_t k = 0; k < row.count; k += i8_block) {
    const auto group = group_at<i8_block>(row, k);
    const float most = std::bit_cast<float>(largest_magnitude(group));
    const float scale = store_scale(panel + i8_scale_at({.lane = lane, .k = k}), most / 127.0f);
    const auto codes = codes_of(group, scale, {-127.0f, 127.0f});
    std::byte* const to = panel + i8_code_at({.lane = lane, .k = k});
    for (std::size_t i = 0; i < i8_block; i += 4)
      std::memcpy(to + i * panel_width, codes.data() + i, 4);
  }
}

GLIMMER_FOR_EACH_WIDTH
void quantise_i4(std::byte* panel, std::int64_t lane, const weight_run& row) {
  for (std::int64_t k = 0; k < row.count; k += i4_block) {
    const auto group = group_at<i4_block>(row, k);
    const float extreme = first_extreme(group);
    const float scale = store_scale(panel + i4_scale_at({.lane = lane, .k = k}), extreme / -8.0f);
    const auto codes = codes_of(group, scale, {-8.0f, 7.0f});
    std::array<std::uint8_t, i4_block> stored;
    for (std::size_t i = 0; i < i4_block; ++i) stored[i] = static_cast<std::uint8_t>(codes[i] + 8);
    std::byte* const to = panel + i4_codes_at({.lane = lane, .k = k});
    for (std::size_t i = 0; i < i4_block; i += 8) {  // two runs of four share four bytes
      std::array<std::uint8_t, 4> pairs;
      for (std::size_t n = 0; n < 4; ++n)
        pairs[n] = static_cast<std::uint8_t>(stored[i + n] | stored[i + n + 4] << 4);
      std::memcpy(to + i / 2 * panel_width, pairs.data(), pairs.size());
    }
  }
}

}  // namespace glimmer
