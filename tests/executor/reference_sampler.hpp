#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sampling_params.hpp"
#include "executor/candidates.hpp"

namespace glimmer {

/// The sampler's definition taken literally: sort everything, then cut. The judge of `sampler`.
std::vector<candidate> reference_kept(std::span<const float> row, const sampling_params& params);
token_id reference_draw(std::span<const float> row, const sampling_params& params,
                        std::uint64_t output_index);

}  // namespace glimmer
