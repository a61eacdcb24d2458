#include "tests/model/head_rig.hpp"

#include <algorithm>
#include <map>

#include "base/assert.hpp"
#include "gpu/cpu/bf16.hpp"
#include "tests/model/golden.hpp"

namespace glimmer {
namespace {

constexpr std::int64_t block_size = 8;
constexpr std::int64_t block_count = 200;
constexpr draft_limits limits{.block_rows = 1200, .context_rows = 24, .logit_rows = 1200};

}  // namespace

const draft_checkpoint& synthetic_head(const std::string& name) {
  static std::map<std::string, std::unique_ptr<draft_checkpoint>> opened;
  auto& slot = opened[name];
  if (!slot) {
    auto c = open_draft_checkpoint(synthetic_head_folder(name),
                                   synthetic_checkpoint("tiny").config.text);
    GLIMMER_ASSERT(c.has_value(), "a synthetic head passes every check");
    slot = std::make_unique<draft_checkpoint>(std::move(*c));
  }
  return *slot;
}

std::vector<float> features_of(const std::string& head, const std::vector<token_id>& tokens) {
  decoder_rig rig{"tiny", {.type = dtype::f32}};
  rig.observe_layers();
  rig_sequence sequence{.tokens = tokens};
  rig.run(sequence, 64);
  const auto& config = synthetic_head(head).config;
  const auto width = static_cast<std::size_t>(config.hidden_size);
  std::vector<float> out;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    for (const auto tap : config.taps) {
      const auto& layer = sequence.layers[static_cast<std::size_t>(tap) + 1];
      const auto at = layer.begin() + static_cast<std::ptrdiff_t>(t * width);
      out.insert(out.end(), at, at + static_cast<std::ptrdiff_t>(width));
    }
  }
  return out;
}

head_rig::head_rig(const std::string& head, const rig_options& options)
    : home_{make_cpu_device({.threads = options.threads, .instructions = options.instructions})},
      type_{options.type},
      work_{*home_} {
  const auto& target = synthetic_checkpoint("tiny");
  const auto& text = target.config.text;
  const auto& source = synthetic_head(head);
  auto target_weights = load_weights(*home_, target, options.quantization);
  auto weights = load_draft_weights(*home_, source, options.quantization);
  GLIMMER_ASSERT(target_weights && weights, "there is memory for the weights");
  target_.emplace(std::move(*target_weights));
  auto sized = limits;
  sized.type = type_;
  auto made = draft_head::make(*home_, source.config, std::move(*weights), sized, text.vocab_size);
  GLIMMER_ASSERT(made.has_value(), "there is memory for the scratch");
  head_.emplace(std::move(*made));
  const auto layout = kv_layout::of(text, block_size, type_).with(source.config, type_);
  auto caches = kv_caches::allocate(*home_, text, layout, {1, block_count});
  GLIMMER_ASSERT(caches.has_value(), "there is memory for the caches");
  caches_.emplace(std::move(*caches));
  for (block_id i = 0; i < block_count; ++i) free_.push_back(i * 7 % block_count);
  for (std::size_t i = 0; i < static_cast<std::size_t>(source.config.layers); ++i) {
    for (const auto& half : {caches_->draft_layer(i).keys, caches_->draft_layer(i).values}) {
      home_->upload(work_.stream(), half,
                    std::vector<std::byte>(half.bytes(), std::byte{0xFF}));  // NaN
    }
  }
}

void head_rig::extend(head_context& to, std::span<const float> features, std::int64_t chunk) {
  const auto width = config().feature_width();
  const auto count = std::ssize(features) / width;
  for (std::int64_t begin = 0; begin < count; begin += chunk) {
    const auto part = std::min(chunk, count - begin);
    std::vector<std::int32_t> rows;
    std::vector<std::int32_t> positions;
    std::vector<std::int32_t> slots;
    for (std::int64_t i = 0; i < part; ++i, ++to.rows) {
      if (to.rows / block_size == std::ssize(to.blocks)) {
        to.blocks.push_back(free_.front());
        free_.pop_front();
      }
      const auto block = to.blocks[static_cast<std::size_t>(to.rows / block_size)];
      rows.push_back(static_cast<std::int32_t>(part - 1 - i));  // features lie in any order
      positions.push_back(static_cast<std::int32_t>(to.rows));
      slots.push_back(static_cast<std::int32_t>(block * block_size + to.rows % block_size));
    }
    auto memory = home_->allocate(static_cast<std::size_t>(part * width) * sizeof(float));
    GLIMMER_ASSERT(memory.has_value(), "there is memory for features");
    const auto table = memory->view(type_, {part, width});
    for (std::int64_t i = 0; i < part; ++i) {
      const auto from = features.subspan(static_cast<std::size_t>((begin + i) * width),
                                         static_cast<std::size_t>(width));
      std::vector<bf16> rounded;
      for (const float value : from) rounded.push_back(to_bf16(value));
      home_->upload(work_.stream(), table.rows({part - 1 - i, 1}),
                    type_ == dtype::f32 ? std::as_bytes(from) : std::as_bytes(std::span{rounded}));
    }
    head_->extend_context(
        work_.stream(),
        {table, work_.put(rows, {part}), work_.put(positions, {part}), work_.put(slots, {part})},
        *caches_);
    work_.clear();
  }
}

attention_layout head_rig::layout_of(std::span<const head_block> blocks) {
  std::vector<std::int32_t> row_begin{0};
  std::vector<std::int32_t> first_position;
  std::vector<std::int32_t> first_block;
  std::size_t columns = 0;
  for (const auto& b : blocks) {
    row_begin.push_back(row_begin.back() + static_cast<std::int32_t>(b.drafts + 1));
    first_position.push_back(static_cast<std::int32_t>(b.context->rows));
    const auto oldest = std::max<std::int64_t>(0, b.context->rows - config().keys_seen() + 1);
    first_block.push_back(static_cast<std::int32_t>(oldest / block_size));
    columns = std::max(columns, b.context->blocks.size());
  }
  std::vector<std::int32_t> table(blocks.size() * columns, -1);
  for (std::size_t s = 0; s < blocks.size(); ++s) {
    const auto& all = blocks[s].context->blocks;
    std::copy(all.begin() + std::min<std::ptrdiff_t>(first_block[s], std::ssize(all)), all.end(),
              table.begin() + static_cast<std::ptrdiff_t>(s * columns));
  }
  const auto count = std::ssize(blocks);
  return {.row_begin = work_.put(row_begin, {count + 1}),
          .first_position = work_.put(first_position, {count}),
          .block_table = work_.put(table, {count, static_cast<std::int64_t>(columns)}),
          .first_block = work_.put(first_block, {count})};
}

std::vector<std::vector<float>> head_rig::draft(std::span<const head_block> blocks) {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> wanted;
  std::vector<std::int32_t> valid_from;
  for (const auto& b : blocks) {
    valid_from.push_back(static_cast<std::int32_t>(b.valid_from));
    for (std::int64_t i = 0; i <= b.drafts; ++i) {
      if (i > 0) wanted.push_back(static_cast<std::int32_t>(tokens.size()));
      tokens.push_back(i == 0 ? b.anchor : config().mask_token);
      positions.push_back(static_cast<std::int32_t>(b.context->rows + i));
    }
  }
  const borrowed_weights borrowed{target_->embedding, target_->head};
  const auto rows =
      head_->run_blocks(work_.stream(),
                        {.tokens = work_.put(tokens, {std::ssize(tokens)}),
                         .positions = work_.put(positions, {std::ssize(positions)}),
                         .wanted = work_.put(wanted, {std::ssize(wanted)}),
                         .valid_from = work_.put(valid_from, {std::ssize(valid_from)}),
                         .layout = layout_of(blocks)},
                        *caches_, borrowed);
  hidden_ = work_.get(rows);
  const auto logits = work_.get(head_->logits(work_.stream(), rows, borrowed));
  work_.clear();
  std::vector<std::vector<float>> out;
  auto at = logits.begin();
  for (const auto& b : blocks) {
    const auto size = b.drafts * target_->head.out;
    out.emplace_back(at, at + size);
    at += size;
  }
  return out;
}

std::vector<float> head_rig::row_at(const head_context& context, std::int64_t position) {
  const auto block = context.blocks[static_cast<std::size_t>(position / block_size)];
  std::vector<float> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(config().layers); ++i) {
    for (const auto& half : {caches_->draft_layer(i).keys, caches_->draft_layer(i).values}) {
      const auto flat = half.reshaped({half.count() / config().head_dim, config().head_dim});
      for (std::int64_t head = 0; head < config().kv_heads; ++head) {
        const auto slot = (block * config().kv_heads + head) * block_size + position % block_size;
        const auto row = work_.get(flat.rows({slot, 1}));
        out.insert(out.end(), row.begin(), row.end());
      }
    }
  }
  return out;
}

}  // namespace glimmer
