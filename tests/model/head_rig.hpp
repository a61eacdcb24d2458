#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/cpu/cpu_device.hpp"
#include "model/draft_head.hpp"
#include "tests/model/decoder_rig.hpp"
#include "tests/model/reference_draft_head.hpp"

namespace glimmer {

/// The synthetic head `name`, opened against tiny.
const draft_checkpoint& synthetic_head(const std::string& name);

/// What the engine's own target says behind the head's taps about `tokens`: [tokens, taps *
/// hidden].
std::vector<float> features_of(const std::string& head, const std::vector<token_id>& tokens);

/// Context rows of one sequence of the rig, and where they lie.
struct head_context {
  std::int64_t rows = 0;         ///< positions [0, rows) exist
  std::vector<block_id> blocks;  ///< of all positions, oldest first
};

/// One sequence's block in a call.
struct head_block {
  const head_context* context = nullptr;
  token_id anchor = 0;
  std::int64_t drafts = 0;
  std::int64_t valid_from = 0;
};

/// A draft head on a CPU device with its own caches, full of NaN where nothing was written, whose
/// tables are kept by hand: a table begins at the first block that the block's rows see.
class head_rig {
 public:
  head_rig(const std::string& head, const rig_options& options);

  /// Appends rows to a sequence's context, in calls of at most `chunk` rows.
  void extend(head_context& to, std::span<const float> features, std::int64_t chunk = 1 << 20);
  /// Logits of each block, [drafts, vocab], from one call.
  std::vector<std::vector<float>> draft(std::span<const head_block> blocks);
  /// Keys and values of one position in every layer.
  std::vector<float> row_at(const head_context& context, std::int64_t position);
  /// Rows behind the final norm of the last call, [wanted, hidden].
  const std::vector<float>& hidden() const { return hidden_; }

  const draft_head_config& config() const { return head_->config(); }

 private:
  attention_layout layout_of(std::span<const head_block> blocks);

  std::unique_ptr<device> home_;
  dtype type_;
  std::optional<decoder_weights> target_;
  std::optional<draft_head> head_;
  std::optional<kv_caches> caches_;
  std::deque<block_id> free_;
  std::vector<float> hidden_;
  device_work work_;
};

}  // namespace glimmer
