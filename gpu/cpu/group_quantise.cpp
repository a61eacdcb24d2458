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

/// The largest magnitude as bits, which order as the values do: a NaN is above all.
std::uint32_t largest_magnitude(const weight_run& group) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < group.count; ++i)
    most = std::max(most, magnitude_bits(group.values[i]));
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

/// Codes of a group, padded with zeros: round(w / scale), within `range`.
template <std::size_t Size>
std::array<std::int8_t, Size> codes_of(const weight_run& group, float scale, code_range range) {
  std::array<std::int8_t, Size> codes{};
  if (scale == 0 || magnitude_bits(scale) >= infinite) return codes;
  for (std::int64_t i = 0; i < group.count; ++i) {
    const float code = std::clamp(rounded(group.values[i] / scale), range.lowest, range.highest);
    codes[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(code);
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

/// Calls body(first column, group) for groups of `size` columns.
template <class Body>
void for_groups(const weight_run& row, std::int64_t size, const Body& body) {
  for (std::int64_t k = 0; k < row.count; k += size)
    body(k, weight_run{.values = row.values + k, .count = std::min(size, row.count - k)});
}

}  // namespace

void quantise_i8(std::byte* panel, std::int64_t lane, const weight_run& row) {
  for_groups(row, i8_block, [&](std::int64_t k, const weight_run& group) {
    const float most = std::bit_cast<float>(largest_magnitude(group));
    const float scale = store_scale(panel + i8_scale_at({.lane = lane, .k = k}), most / 127.0f);
    const auto codes = codes_of<i8_block>(group, scale, {-127.0f, 127.0f});
    for (std::int64_t i = 0; i < i8_block; ++i)
      panel[i8_code_at({.lane = lane, .k = k + i})] =
          static_cast<std::byte>(codes[static_cast<std::size_t>(i)]);
  });
}

void quantise_i4(std::byte* panel, std::int64_t lane, const weight_run& row) {
  for_groups(row, i4_block, [&](std::int64_t k, const weight_run& group) {
    const std::uint32_t most = largest_magnitude(group);
    const float* const end = group.values + group.count;
    const float extreme =
        *std::find_if(group.values, end, [&](float w) { return magnitude_bits(w) == most; });
    const float scale = store_scale(panel + i4_scale_at({.lane = lane, .k = k}), extreme / -8.0f);
    const auto codes = codes_of<i4_block>(group, scale, {-8.0f, 7.0f});
    for (std::int64_t i = 0; i < i4_block; ++i) {
      const int code = codes[static_cast<std::size_t>(i)] + 8;
      std::byte& pair = panel[i4_codes_at({.lane = lane, .k = k + i})];
      pair = i % 8 < 4 ? static_cast<std::byte>(code) : pair | static_cast<std::byte>(code << 4);
    }
  });
}

}  // namespace glimmer
