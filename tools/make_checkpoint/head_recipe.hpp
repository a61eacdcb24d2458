#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/draft_head_config.hpp"

namespace glimmer {

/// A synthetic DFlash head, and the recipe of the target that it belongs to.
struct head_recipe {
  std::string name;
  std::string target;
  draft_head_config config;
};

/// tiny-head, tiny-head-4, mid-deep-head.
std::vector<std::string> head_recipe_names();

/// Fails for an unknown name and lists the known ones.
result<head_recipe> find_head_recipe(std::string_view name);

/// Text of the head's config.json, in the published flat form.
std::string head_config_json(const head_recipe& recipe);

/// Writes config.json and model.safetensors. Creates `folder`; the same recipe gives the same bytes
/// everywhere.
result<void> write_head(const head_recipe& recipe, const std::filesystem::path& folder);

}  // namespace glimmer
