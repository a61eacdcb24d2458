#include "gpu/cpu/group_quantise.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "gpu/cpu/bf16.hpp"
#include "gpu/cpu/packing.hpp"

namespace glimmer {

namespace {

constexpr std::uint32_t infinite = 0x7f800000u;

std::uint32_t magnitude_bits(float x) {
  return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu;
}

/// Weights of one scale, padded with zeros: of fixed size, so that loops over them become vectors.
template <std::size_t Size>
using weight_group = std::array<float, Size>;

/// The largest magnitude as bits, which order as the values do: a NaN is above all.
template <std::size_t Size>
std::uint32_t largest_magnitude(const weight_group<Size>& group) {
  std::uint32_t most = 0;
  for (const float w : group) most = std::max(most, magnitude_bits(w));
  return most;
}

/// To nearest, ties to even, for the small numbers that occur here.
float rounded(float x) {
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
std::array<std::int8_t, Size> codes_of(const weight_group<Size>& group, float scale,
                                       code_range range) {
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
float store_scale(std::byte* at, float scale) {
  if (magnitude_bits(scale) >= infinite) scale = std::bit_cast<float>(0x7fc00000u);
  const bf16 stored = to_bf16(scale);
  std::memcpy(at, &stored, sizeof stored);
  return widen(stored);
}

/// Calls body(first column, group) for groups of `Size` columns.
template <std::size_t Size, class Body>
void for_groups(const weight_run& row, const Body& body) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  for (std::int64_t k = 0; k < row.count; k += size) {
    weight_group<Size> group{};
    std::copy_n(row.values + k, std::min(size, row.count - k), group.begin());
    body(k, group);
  }
}

}  // namespace

void quantise_i8(std::byte* panel, std::int64_t lane, const weight_run& row) {
  for_groups<i8_block>(row, [panel, lane](std::int64_t k, const weight_group<i8_block>& group) {
    const float most = std::bit_cast<float>(largest_magnitude(group));
    const float scale = store_scale(panel + i8_scale_at({.lane = lane, .k = k}), most / 127.0f);
    const auto codes = codes_of(group, scale, {-127.0f, 127.0f});
    std::byte* const to = panel + i8_code_at({.lane = lane, .k = k});
    for (std::size_t i = 0; i < i8_block; i += 4)
      std::memcpy(to + i * panel_width, codes.data() + i, 4);
  });
}

void quantise_i4(std::byte* panel, std::int64_t lane, const weight_run& row) {
  for_groups<i4_block>(row, [panel, lane](std::int64_t k, const weight_group<i4_block>& group) {
    const std::uint32_t most = largest_magnitude(group);
    const float extreme =
        *std::ranges::find_if(group, [&](float w) { return magnitude_bits(w) == most; });
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
  });
}

}  // namespace glimmer
