#pragma once

#include <cstddef>
#include <cstdint>

namespace glimmer {

/// Some neighbouring weights of one row.
struct weight_run {
  const float* values = nullptr;
  std::int64_t count = 0;
};

// Quantises a whole row into lane `lane` of an i8 or an i4_pair panel, by the formulas beside
// `packed_matrix` (gpu/ops.hpp). The panel's layout is in packing.hpp.

void quantise_i8(std::byte* panel, std::int64_t lane, const weight_run& row);
void quantise_i4(std::byte* panel, std::int64_t lane, const weight_run& row);

}  // namespace glimmer
