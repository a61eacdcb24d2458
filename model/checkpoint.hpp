#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/safetensors.hpp"
#include "model/stored_matrix.hpp"

namespace glimmer {

/// A tensor that a checkpoint of a given configuration must hold.
struct expected_tensor {
  enum class part : std::uint8_t { text, vision };
  std::string name;
  std::vector<std::int64_t> shape;
  part of = part::text;
};

/// All of them: 3 + 12 per layer for text; with a vision tower 6 + 16 per layer and 3 for the
/// projector.
std::vector<expected_tensor> expected_tensors(const model_config& config);

/// A checkpoint folder whose headers, shapes and arithmetic are known to be right.
struct checkpoint {
  model_config config;
  generation_defaults defaults;
  tensor_files files;
  std::uint64_t text_parameters = 0;
  std::uint64_t vision_parameters = 0;
  std::vector<std::string> notes;  ///< for the log, e.g. that vision tensors are skipped
  /// The decoder's matrices by module ("lm_head"); they point into `files`.
  std::unordered_map<std::string, stored_matrix> matrices;
};

/// Reads configuration and headers of `folder` and checks that every expected tensor is there with
/// the expected shape and a readable type (matrices: in a known format, which is the declared one),
/// and nothing else. Touches no weights; cheap.
result<checkpoint> open_checkpoint(const std::filesystem::path& folder);

/// Where Hugging Face's tools keep downloads: HF_HUB_CACHE, else HF_HOME/hub, else
/// XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub.
std::filesystem::path hub_cache_folder();

/// The folder that MODEL stands for: a folder itself, or a hub id ("organisation/name") whose
/// snapshot of branch `main` lies in `hub_cache`. Downloads nothing.
result<std::filesystem::path> resolve_model(std::string_view model,
                                            const std::filesystem::path& hub_cache);

}  // namespace glimmer
