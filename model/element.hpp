#pragma once

#include <cstddef>
#include <optional>

#include "gpu/dtype.hpp"
#include "model/safetensors.hpp"

namespace glimmer {

/// The type of a plain weight: BF16, F16 or F32; nullopt for every other.
std::optional<dtype> plain_type(const stored_tensor& t);

/// Element `i` of a plain weight or of an F8_E4M3 tensor, widened exactly.
float element(const stored_tensor& t, std::size_t i);

}  // namespace glimmer
