#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "model/checkpoint.hpp"
#include "tools/make_checkpoint/recipe.hpp"

namespace glimmer {

/// How the recipe stores the linear module `module`.
declared_weight format_of(const checkpoint_recipe& recipe, std::string_view module);

/// Writes the member quantization_config; nothing for plain recipes.
void write_quantization_config(json_writer& w, const checkpoint_recipe& recipe);

/// A tensor of a checkpoint file: a plain one, or a part of a quantised module.
struct written_tensor {
  enum class part : std::uint8_t { plain, values, scales, factor, input_scale };
  std::string name;
  std::string type;  ///< as in the header
  std::vector<std::int64_t> shape;
  expected_tensor source;  ///< the plain tensor that it is made from
  part what = part::plain;
  weight_scheme scheme = weight_scheme::plain;

  std::uint64_t count() const;
  std::uint64_t bytes() const;
};

/// All tensors of the recipe, scales and factors behind everything else: in shards they lie far
/// from their weights.
std::vector<written_tensor> written_tensors(const checkpoint_recipe& recipe);

/// Nearest code of E4M3 (saturating at 448) and of E2M1 (at 6), ties to even.
std::uint8_t e4m3_code(float value);
std::uint8_t e2m1_code(float value);
/// Values of codes.
float e4m3_value(std::uint8_t code);

/// The data of a part of a quantised module, as its format's producer quantises: scales from the
/// largest magnitude of block and matrix, codes from what the rounded scales leave.
std::vector<std::byte> quantised_data(const model_config& config, const written_tensor& tensor);

}  // namespace glimmer
