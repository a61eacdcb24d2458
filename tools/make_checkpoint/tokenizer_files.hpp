#pragma once

#include <string>

#include "tools/make_checkpoint/recipe.hpp"

namespace glimmer {

/// Text of tokenizer.json: byte-level BPE with the release's structure. The base vocabulary is
/// filled up to `special_base` with tokens that no text is cut into.
std::string tokenizer_json(const checkpoint_recipe& recipe);

/// Text of tokenizer_config.json.
std::string tokenizer_config_json(const checkpoint_recipe& recipe);

}  // namespace glimmer
