#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/ops.hpp"
#include "model/quantization.hpp"
#include "model/safetensors.hpp"

namespace glimmer {

/// A matrix that a checkpoint must hold, in whatever format: module "lm_head" is weight
/// [extent.out, extent.in].
struct wanted_matrix {
  std::string module;
  matrix_extent extent;
};

/// A matrix as the files hold it. Views; valid while the files live.
struct stored_matrix {
  std::string module;
  matrix_extent extent;
  weight_scheme scheme = weight_scheme::plain;
  const stored_tensor* values = nullptr;       ///< weight or weight_packed
  const stored_tensor* scales = nullptr;       ///< weight_scale; null for plain
  const stored_tensor* factor = nullptr;       ///< of NVFP4: weight_scale_2 or weight_global_scale
  const stored_tensor* input_scale = nullptr;  ///< looked at, not used

  /// All tensors of the module that are there.
  std::vector<const stored_tensor*> tensors() const;
  /// Type that a packed matrix takes it from.
  dtype source() const;
  /// The factor on the block scales of NVFP4; ones for everything else.
  scale_rule rule() const;
};

/// Finds a matrix by the tensors that are there, each of the right type and shape, and compares the
/// scheme with what is declared. Touches no values. Refusals name the module.
result<stored_matrix> find_matrix(const tensor_files& files, const quantization_config& config,
                                  const wanted_matrix& wanted);

/// Looks at every scale (positive and finite, below 2^100) and every FP8 code (no NaN).
result<void> check_values(const tensor_files& files, const stored_matrix& m);

/// Scales of the 128 x 128 blocks of an FP8 matrix, row-major; all equal for one scale a matrix.
std::vector<float> block_scales(const stored_matrix& m);

/// The matrix in f32, exactly as its format is published (checked at load by `check_values`):
///
///     FP8     code * scale
///     NVFP4   code * (block scale * weight_scale_2), or code * (block scale / weight_global_scale)
///
/// with one rounding to f32 for each operation.
std::vector<float> dequantised(const stored_matrix& m);

}  // namespace glimmer
