#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"

namespace glimmer {

/// What one synthetic checkpoint looks like: the shapes, and where its special tokens begin.
struct checkpoint_recipe {
  std::string name;
  model_config config;
  token_id special_base = 0;  ///< id of <|begin_of_text|>; 128 specials follow
  /// Whether config.json spells out layer_types and layer_rope_theta or leaves them to the
  /// backward rule.
  bool write_layer_lists = true;
  /// How the decoder's matrices are stored; which ones, says formats.hpp.
  enum class weight_format : std::uint8_t { plain, fp8, nvfp4, mixed, packed_nvfp4 };
  weight_format format = weight_format::plain;
};

/// Number of special tokens in every synthetic vocabulary.
inline constexpr token_id special_token_count = 128;

/// tiny, tiny-odd, tiny-kernel, tiny-fp8, tiny-nvfp4, tiny-mixed, tiny-ct-nvfp4, mid, mid-deep,
/// layer-real.
std::vector<std::string> recipe_names();

/// Fails for an unknown name and lists the known ones.
result<checkpoint_recipe> find_recipe(std::string_view name);

/// Text of config.json, of generation_config.json.
std::string config_json(const checkpoint_recipe& recipe);
std::string generation_config_json(const checkpoint_recipe& recipe);

}  // namespace glimmer
