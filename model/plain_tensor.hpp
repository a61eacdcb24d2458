#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/safetensors.hpp"

namespace glimmer {

/// A tensor that must be there in BF16, F16 or F32.
struct wanted_tensor {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Finds it by name and compares type and shape. Refusals name what is missing or different.
result<const stored_tensor*> find_plain(const tensor_files& files, const wanted_tensor& wanted);

/// A refusal that says that `wanted` is missing, in the file where it should be.
error missing_tensor(const tensor_files& files, const wanted_tensor& wanted);

/// Looks at every element of a plain tensor for NaN and infinity.
result<void> check_finite(const tensor_files& files, const stored_tensor& t);

}  // namespace glimmer
