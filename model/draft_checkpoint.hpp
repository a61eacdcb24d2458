#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "model/config.hpp"
#include "model/draft_head_config.hpp"
#include "model/safetensors.hpp"
#include "model/stored_matrix.hpp"

namespace glimmer {

/// A module of a DFlash head by its published name ("layers.0.mlp.up_proj") and the shape of its
/// weight: [out, in] of a matrix, [width] of a norm.
struct head_module {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// All of them: 3 + 11 per layer.
std::vector<head_module> expected_modules(const draft_head_config& config);

/// A draft head's folder whose headers, shapes and arithmetic are known to be right, and to fit the
/// target. Modules are found under their published names, with or without `model.` in front; `fc`
/// and `hidden_norm` stand for the encoder's, `qkv_proj` and `gate_up_proj` for their parts.
struct draft_checkpoint {
  draft_head_config config;
  tensor_files files;
  std::uint64_t parameters = 0;
  std::unordered_map<std::string, stored_matrix> matrices;      ///< by published name
  std::unordered_map<std::string, const stored_tensor*> norms;  ///< likewise
  std::deque<stored_tensor> parts;  ///< of fused tensors; some matrices point here
  std::vector<std::string> notes;   ///< for the log, e.g. the means of the norms
};

/// Reads configuration and headers of `folder`: every module there with the right shape, in a known
/// format, and nothing else. Touches no matrix. Every refusal says that it is of the draft head.
result<draft_checkpoint> open_draft_checkpoint(const std::filesystem::path& folder,
                                               const text_config& target);

}  // namespace glimmer
