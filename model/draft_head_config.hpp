#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "model/config.hpp"

namespace glimmer {

/// A context position exactly `sliding_window` before (or behind) a row is still seen. Published
/// code that keeps only the last window of rows loses that one; the trained rule is not known, and
/// acceptance does not depend on it.
inline constexpr bool window_edge_is_seen = true;

/// The shape and constants of a DFlash head. The defaults are those of the released one.
struct draft_head_config {
  std::int64_t hidden_size = 6656;  ///< the target's
  std::int64_t intermediate_size = 19'968;
  std::int64_t layers = 5;
  std::int64_t query_heads = 32;
  std::int64_t kv_heads = 8;
  std::int64_t head_dim = 128;
  std::int64_t positions_max = 131'072;  ///< trained; no table depends on it
  std::int64_t window = 2048;
  std::int64_t block_size = 16;  ///< rows of one call: the anchor and block_size - 1 drafts
  float norm_eps = 1e-5f;
  float rope_theta = 500'000.0f;
  token_id mask_token = 0;
  /// Target layers whose outputs the head sees, in the order in which it takes them.
  std::vector<std::int64_t> taps;
  /// What the file says of the target, where it says anything.
  std::optional<std::int64_t> vocab_size;
  std::optional<std::int64_t> draft_vocab_size;
  std::optional<std::int64_t> target_layers;

  std::int64_t query_width() const { return query_heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  /// Width of the taps of one position, side by side.
  std::int64_t feature_width() const {
    return static_cast<std::int64_t>(taps.size()) * hidden_size;
  }
  std::int64_t drafts_max() const { return block_size - 1; }
  /// Positions that a row sees to either side, itself included: the count that attention and the
  /// sliding group's blocks go by.
  std::int64_t keys_seen() const { return window + (window_edge_is_seen ? 1 : 0); }
};

/// Reads the text of a draft head's config.json, flat or with a nested `dflash_config`. Which kind
/// of head it is follows from `architectures`; DSpark and DFlash2 heads are recognised and refused.
result<draft_head_config> parse_draft_head_config(std::string_view json_text);

/// Reads `folder`/config.json.
result<draft_head_config> read_draft_head_config(const std::filesystem::path& folder);

/// Whether head and target belong together: widths, taps, mask token. A refusal names both values.
result<void> check_pair(const draft_head_config& head, const text_config& target);

/// A refusal said of the head, so that its files are not taken for the target's.
error of_draft_head(error e);

}  // namespace glimmer
