#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/kv_group.hpp"
#include "base/result.hpp"
#include "model/quantization.hpp"

namespace glimmer {

/// The text decoder's shape and constants. The defaults are those of the released 30B model.
struct text_config {
  std::int64_t vocab_size = 202'048;
  std::int64_t hidden_size = 6656;
  std::int64_t intermediate_size = 19'968;
  std::int64_t layers = 52;
  std::int64_t query_heads = 32;
  std::int64_t kv_heads = 2;
  std::int64_t head_dim = 128;
  std::int64_t positions_max = 131'072;  ///< admission limit; no table depends on it
  std::int64_t window = 2048;            ///< keys a sliding layer's query sees, itself included
  float norm_eps = 1e-5f;                ///< input, pre-MLP, final, embedding, q and k norms
  float post_norm_eps = 1e-8f;           ///< the two norms behind attention and MLP
  float qk_scale = 3.87f;                ///< factor on q after its norm
  float output_multiplier = 0.19611613513818404f;
  float logit_cap = 20.0f;
  float rope_theta = 500'000.0f;
  /// Per layer: which keys it sees, and so which KV group it belongs to.
  std::vector<kv_group> layer_groups;
  /// Per layer: whether q and k are rotated. Independent of `layer_groups`.
  std::vector<std::uint8_t> layer_rotates;

  std::int64_t query_width() const { return query_heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  /// Layers of one KV group.
  std::int64_t layers_in(kv_group group) const;
};

/// The vision tower's shape; enough to know its tensors.
struct vision_config {
  std::int64_t hidden_size = 1536;
  std::int64_t intermediate_size = 8960;
  std::int64_t layers = 50;
  std::int64_t heads = 16;
  std::int64_t patch_size = 14;
  std::int64_t patch_temporal = 2;
  std::int64_t merge_size = 2;
  std::int64_t position_rows = 32;
  std::int64_t position_columns = 32;
  std::int64_t merged_width = 6144;     ///< `out_hidden_size`: hidden_size * merge_size^2
  std::int64_t projector_width = 4096;  ///< `projector_hidden_size`
};

/// One validated config.json.
struct model_config {
  text_config text;
  std::optional<vision_config> vision;  ///< absent: a text-only checkpoint
  token_id image_token = 200'092;
  token_id video_token = 200'091;
  token_id bos_token = 200'000;
  std::vector<token_id> eos_tokens{200'001};
  quantization_config quantization;
};

/// What generation_config.json recommends; the server's defaults for absent request fields.
struct generation_defaults {
  std::optional<float> temperature;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<std::int32_t> top_k;
  std::optional<float> repetition_penalty;
  std::optional<token_id> bos_token;
  std::optional<token_id> pad_token;
  std::vector<token_id> eos_tokens;  ///< empty when the file names none
};

/// Reads the text of a config.json. Absent fields take the released model's values; a field of the
/// wrong type, an impossible shape, or a mechanism that is not built is refused in one sentence.
result<model_config> parse_model_config(std::string_view json_text);

/// Reads the text of a generation_config.json; unknown fields are ignored.
result<generation_defaults> parse_generation_defaults(std::string_view json_text);

/// Reads `folder`/config.json.
result<model_config> read_model_config(const std::filesystem::path& folder);

/// Reads `folder`/generation_config.json; an absent file gives no defaults.
result<generation_defaults> read_generation_defaults(const std::filesystem::path& folder);

/// Tokens that end generation: those of generation_config.json, or of config.json without them.
std::vector<token_id> end_tokens(const model_config& config, const generation_defaults& defaults);

/// The whole of a small file of a checkpoint folder.
result<std::string> read_checkpoint_text(const std::filesystem::path& path);

/// A failure of a checkpoint file, named in `param` and in front of the sentence.
error checkpoint_error(std::string_view file, std::string sentence);

}  // namespace glimmer
