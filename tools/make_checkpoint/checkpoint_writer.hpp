#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "model/checkpoint.hpp"
#include "tools/make_checkpoint/recipe.hpp"

namespace glimmer {

struct write_options {
  std::size_t shards = 0;  ///< 0: one model.safetensors; else so many shards and an index
};

/// Writes a whole Hugging Face folder: configuration, weights, tokenizer. Creates `folder`;
/// files already there are replaced. The same recipe gives the same bytes everywhere.
result<void> write_checkpoint(const checkpoint_recipe& recipe, const std::filesystem::path& folder,
                              const write_options& options);

/// Writes a folder of config.json and one model.safetensors that holds `tensors` in bf16, by the
/// rules of their names.
result<void> write_plain_checkpoint(const std::filesystem::path& folder, std::string_view config,
                                    std::span<const expected_tensor> tensors);

}  // namespace glimmer
