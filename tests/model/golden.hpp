#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "model/checkpoint.hpp"

namespace glimmer {

/// A dense array of a fixture, widened to float.
struct golden_array {
  std::vector<std::int64_t> shape;
  std::vector<float> values;

  /// Entry `index` of the outermost axis.
  std::span<const float> part(std::int64_t index) const;
};

/// The array that `about` (type, shape, offset) says lies in `bytes`.
golden_array golden_array_of(const json& about, const std::string& bytes);

/// What the published reference computed on one synthetic checkpoint (tools/golden).
struct golden {
  std::vector<token_id> tokens;
  std::vector<std::int64_t> positions;  ///< of layers_f32 and logits_bf16
  golden_array logits_f32;              ///< [tokens, vocab]
  golden_array layers_f32;              ///< [layers + 1, positions, hidden]
  golden_array layers_bf16;             ///< [layers + 1, tokens, hidden]
  golden_array logits_bf16;             ///< [positions, vocab]
};

/// Fixture `name` of tests/golden, read once per process.
const golden& golden_of(const std::string& name);

/// What the published reference computed with the dequantised weights of a quantised checkpoint.
struct quantised_golden {
  std::vector<token_id> tokens;
  std::vector<std::int64_t> positions;
  golden_array logits_f32;  ///< [positions, vocab]
};
quantised_golden quantised_golden_of(const std::string& name);

/// The synthetic checkpoint `name`, written to a temporary folder once per process.
const std::filesystem::path& synthetic_folder(const std::string& name);

/// The synthetic draft head `name`, likewise.
const std::filesystem::path& synthetic_head_folder(const std::string& name);

/// The same checkpoint as `synthetic_folder`, opened.
const checkpoint& synthetic_checkpoint(const std::string& name);

/// Largest absolute difference of two arrays of equal size.
double largest_difference(std::span<const float> a, std::span<const float> b);
/// Root mean square of a - b, relative to that of b.
double relative_rms(std::span<const float> a, std::span<const float> b);

}  // namespace glimmer
