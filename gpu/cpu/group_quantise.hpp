#pragma once

#include <cstddef>
#include <cstdint>

namespace glimmer {

/// Some neighbouring weights of one row.
struct weight_run {
  const float* values = nullptr;
  std::int64_t count = 0;
};

// Quantises whole groups of a row into lane `lane` of the blocks at `panel`, of i8 or of i4_pair,
// by the formulas beside `packed_matrix` (gpu/ops.hpp). The layout is in packing.hpp.

void quantise_i8(std::byte* panel, std::int64_t lane, const weight_run& row);
void quantise_i4(std::byte* panel, std::int64_t lane, const weight_run& row);

}  // namespace glimmer
