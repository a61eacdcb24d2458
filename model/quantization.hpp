#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace glimmer {

/// How one matrix is stored. Tensors of a module, beside `weight`:
///
///     plain         BF16, F16 or F32 and nothing else
///     fp8_block     F8_E4M3; weight_scale (or weight_scale_inv, a factor all the same) BF16 or F32
///                   for each 128 x 128 block
///     fp8_tensor    F8_E4M3; weight_scale, one F32
///     nvfp4         U8 pairs of E2M1; weight_scale F8_E4M3 for each 16 columns; weight_scale_2,
///                   one F32 factor
///     nvfp4_packed  the same as weight_packed, weight_scale, weight_global_scale, whose value is
///                   divided by
enum class weight_scheme : std::uint8_t { plain, fp8_block, fp8_tensor, nvfp4, nvfp4_packed };

/// For sentences: "plain", "FP8 in blocks", ...
std::string_view to_string(weight_scheme scheme);

/// What a configuration says of one module. `input_scale`: a static scale of its activations is
/// stored as well. It has to be there, and is not used: activations are not quantised here, or not
/// to so few bits (gpu/ops.hpp), which is another function of them than W8A8 and W4A4 kernels
/// compute (a more exact one).
struct declared_weight {
  weight_scheme scheme = weight_scheme::plain;
  bool input_scale = false;
  friend bool operator==(const declared_weight&, const declared_weight&) = default;
};

/// `quantization_config` of config.json: which modules are quantised, and how. Understands
/// compressed-tensors (float-quantized and nvfp4-pack-quantized, in any number of groups), "fp8"
/// and ModelOpt (FP8, NVFP4, MIXED_PRECISION). Nothing is guessed: what is not known is refused.
class quantization_config {
 public:
  /// All modules plain.
  quantization_config() = default;
  /// Fails with a sentence without file name, for config.json's reader to put it in front.
  static result<quantization_config> parse(const json& value);

  /// `quant_method`; empty for plain weights.
  const std::string& method() const { return method_; }
  /// What is declared of the linear module `module`, e.g. "lm_head". Fails where a pattern cannot
  /// be read or two groups claim the module.
  result<declared_weight> of(std::string_view module) const;

 private:
  /// Modules that one declaration is for. A pattern is a module's name, the name of a module around
  /// it, "Linear", "re:" and a regular expression, or (ModelOpt) a name with asterisks.
  struct group {
    std::vector<std::string> patterns;
    declared_weight weight;
  };

  static result<quantization_config> parse_compressed_tensors(const json& value);
  static result<quantization_config> parse_fp8(const json& value);
  static result<quantization_config> parse_modelopt(const json& value);

  std::string method_;
  std::vector<group> groups_;
  std::vector<std::string> ignored_;
};

}  // namespace glimmer
