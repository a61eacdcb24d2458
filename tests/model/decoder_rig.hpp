#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/cpu/cpu_device.hpp"
#include "model/forward.hpp"
#include "tests/model/device_work.hpp"

namespace glimmer {

struct rig_options {
  dtype type = dtype::f32;
  unsigned threads = 2;
  std::optional<instruction_set> instructions;
  load_quantization quantization = load_quantization::none;
  std::optional<dtype> cache;  ///< of the caches; absent: like the activations
  /// Where sequences made by `sequence_of` begin: before it, all keys and values are zeros.
  std::int64_t first_position = 0;
};

/// One token stream of the rig: its tokens, what is computed, its blocks, and every row of logits.
struct rig_sequence {
  std::vector<token_id> tokens;
  std::int64_t first = 0;  ///< position of tokens[0]
  std::int64_t computed = 0;
  /// Per group: the blocks in use, oldest first, and how many have left the window before them.
  std::array<std::deque<block_id>, kv_group_count> blocks;
  std::array<std::int64_t, kv_group_count> dropped{};
  std::vector<float> logits;               ///< [computed, vocab]
  std::vector<std::vector<float>> layers;  ///< [layers + 1][computed * hidden], when observed
};

/// A decoder on a CPU device, with block tables kept by hand: caches start as NaN, blocks are given
/// out in scattered order, and sliding ones are used again as soon as they leave the window.
class decoder_rig {
 public:
  decoder_rig(const std::string& model, const rig_options& options);

  /// The next `count` tokens of one sequence.
  struct feed {
    rig_sequence* sequence = nullptr;
    std::int64_t count = 0;
  };
  /// A sequence that begins at the rig's first position.
  rig_sequence sequence_of(std::vector<token_id> tokens) const;
  /// Runs one step and appends the logits of all its rows to their sequences.
  void step(std::span<const feed> feeds);
  /// Runs `sequence` to its end in chunks of at most `chunk` tokens.
  void run(rig_sequence& sequence, std::int64_t chunk);
  /// Keep every layer's output as well.
  void observe_layers() { observing_ = true; }
  /// Gives all blocks of a sequence back.
  void release(rig_sequence& sequence);

  const text_config& config() const { return model_->config(); }

 private:
  void fill();
  void reserve(const feed& f);
  void drop(rig_sequence& sequence);
  forward_batch batch_of(std::span<const feed> feeds, std::int64_t rows);
  attention_layout layout_of(std::span<const feed> feeds, std::size_t group);

  std::unique_ptr<device> home_;
  std::optional<decoder> model_;
  std::optional<kv_caches> caches_;
  std::array<std::deque<block_id>, kv_group_count> free_;
  std::int64_t first_position_ = 0;
  bool observing_ = false;
  device_work work_;
};

/// `count` token ids below the vocabulary's size that depend on `seed` alone.
std::vector<token_id> random_tokens(std::uint64_t seed, const text_config& config,
                                    std::int64_t count);

}  // namespace glimmer
