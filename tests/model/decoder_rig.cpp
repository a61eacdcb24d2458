#include "tests/model/decoder_rig.hpp"

#include <algorithm>
#include <random>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "tests/model/golden.hpp"

namespace glimmer {
namespace {

constexpr std::int64_t block_size = 8;  // half a window
/// Beside the blocks of zeros before a first position.
constexpr kv_block_counts block_counts{160, 80};
constexpr std::int64_t rows_max = 256;

constexpr std::size_t full = static_cast<std::size_t>(kv_group::full);
constexpr std::size_t sliding = static_cast<std::size_t>(kv_group::sliding);

std::deque<block_id> scattered(std::int64_t count) {
  std::deque<block_id> ids;
  for (block_id i = 0; i < count; ++i) ids.push_back(i);
  std::mt19937 order{7};
  std::shuffle(ids.begin(), ids.end(), order);
  return ids;
}

}  // namespace

decoder_rig::decoder_rig(const std::string& model, const rig_options& options)
    : home_{make_cpu_device({.threads = options.threads, .instructions = options.instructions})},
      work_{*home_} {
  const auto& source = synthetic_checkpoint(model);
  const auto& text = source.config.text;
  auto weights = load_weights(*home_, source, options.quantization);
  GLIMMER_ASSERT(weights.has_value(), "there is memory for the weights");
  auto made = decoder::make(*home_, text, std::move(*weights),
                            {.rows = rows_max, .wanted_rows = rows_max, .type = options.type});
  GLIMMER_ASSERT(made.has_value(), "there is memory for the scratch");
  model_.emplace(std::move(*made));
  first_position_ = options.first_position;
  auto counts = block_counts;
  counts[full] += first_position_ / block_size;
  const auto layout = kv_layout::of(text, block_size, options.cache.value_or(options.type));
  auto caches = kv_caches::allocate(*home_, text, layout, counts);
  GLIMMER_ASSERT(caches.has_value(), "there is memory for the caches");
  caches_.emplace(std::move(*caches));
  for (std::size_t g = 0; g < kv_group_count; ++g) free_[g] = scattered(counts[g]);
  fill();
}

/// Fresh memory may hold anything; here it holds NaN everywhere, unless zeros are asked for.
void decoder_rig::fill() {
  const std::byte all{static_cast<unsigned char>(first_position_ > 0 ? 0 : 0xFF)};
  for (std::size_t i = 0; i < config().layer_groups.size(); ++i) {
    for (const auto& half : {caches_->layer(i).keys, caches_->layer(i).values}) {
      home_->upload(work_.stream(), half, std::vector<std::byte>(half.bytes(), all));
    }
  }
}

rig_sequence decoder_rig::sequence_of(std::vector<token_id> tokens) const {
  rig_sequence sequence{.tokens = std::move(tokens), .first = first_position_};
  const auto visible = std::max<std::int64_t>(0, first_position_ - config().window + 1);
  sequence.dropped[sliding] = visible / block_size;
  sequence.computed = first_position_;
  return sequence;
}

void decoder_rig::reserve(const feed& f) {
  const auto end = f.sequence->computed + f.count;
  for (std::size_t g = 0; g < kv_group_count; ++g) {
    auto& blocks = f.sequence->blocks[g];
    const auto needed = (end + block_size - 1) / block_size - f.sequence->dropped[g];
    while (static_cast<std::int64_t>(blocks.size()) < needed) {
      GLIMMER_ASSERT(!free_[g].empty(), "the rig has blocks enough");
      blocks.push_back(free_[g].front());
      free_[g].pop_front();
    }
  }
}

/// Takes back the sliding blocks that no later query can see.
void decoder_rig::drop(rig_sequence& sequence) {
  const auto first_visible = std::max<std::int64_t>(0, sequence.computed - config().window + 1);
  auto& dropped = sequence.dropped[sliding];
  while ((dropped + 1) * block_size <= first_visible && !sequence.blocks[sliding].empty()) {
    free_[sliding].push_front(sequence.blocks[sliding].front());
    sequence.blocks[sliding].pop_front();
    ++dropped;
  }
}

void decoder_rig::release(rig_sequence& sequence) {
  for (std::size_t g = 0; g < kv_group_count; ++g) {
    for (const auto block : sequence.blocks[g]) free_[g].push_front(block);
    sequence.blocks[g].clear();
  }
}

attention_layout decoder_rig::layout_of(std::span<const feed> feeds, std::size_t group) {
  std::vector<std::int32_t> row_begin{0};
  std::vector<std::int32_t> first_position;
  std::vector<std::int32_t> first_block;
  attention_layout layout;
  std::size_t columns = 0;
  for (const auto& f : feeds) {
    row_begin.push_back(row_begin.back() + static_cast<std::int32_t>(f.count));
    first_position.push_back(static_cast<std::int32_t>(f.sequence->computed));
    first_block.push_back(static_cast<std::int32_t>(f.sequence->dropped[group]));
    columns = std::max(columns, f.sequence->blocks[group].size());
    layout.rows_max = std::max(layout.rows_max, f.count);
    layout.position_max = std::max(layout.position_max, f.sequence->computed + f.count - 1);
  }
  std::vector<std::int32_t> table(feeds.size() * columns);
  for (std::size_t s = 0; s < feeds.size(); ++s) {
    std::copy(feeds[s].sequence->blocks[group].begin(), feeds[s].sequence->blocks[group].end(),
              table.begin() + static_cast<std::ptrdiff_t>(s * columns));
  }
  const auto sequences = static_cast<std::int64_t>(feeds.size());
  layout.row_begin = work_.put(row_begin, {sequences + 1});
  layout.first_position = work_.put(first_position, {sequences});
  layout.first_block = work_.put(first_block, {sequences});
  layout.block_table = work_.put(table, {sequences, static_cast<std::int64_t>(columns)});
  return layout;
}

forward_batch decoder_rig::batch_of(std::span<const feed> feeds, std::int64_t rows) {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> wanted;
  std::array<std::vector<std::int32_t>, kv_group_count> slots;
  for (const auto& [sequence, count] : feeds) {
    for (auto p = sequence->computed; p < sequence->computed + count; ++p) {
      wanted.push_back(static_cast<std::int32_t>(wanted.size()));
      tokens.push_back(sequence->tokens[static_cast<std::size_t>(p - sequence->first)]);
      positions.push_back(static_cast<std::int32_t>(p));
      for (const auto g : {full, sliding}) {
        const auto column = static_cast<std::size_t>(p / block_size - sequence->dropped[g]);
        slots[g].push_back(
            static_cast<std::int32_t>(sequence->blocks[g][column] * block_size + p % block_size));
      }
    }
  }
  forward_batch batch{.tokens = work_.put(tokens, {rows}),
                      .positions = work_.put(positions, {rows}),
                      .wanted = work_.put(wanted, {rows})};
  for (const auto g : {full, sliding}) {
    batch.slots[g] = work_.put(slots[g], {rows});
    batch.layout[g] = layout_of(feeds, g);
  }
  return batch;
}

void decoder_rig::step(std::span<const feed> feeds) {
  std::int64_t rows = 0;
  for (const auto& f : feeds) {
    reserve(f);
    rows += f.count;
  }
  layer_observer observer;
  if (observing_) {
    observer = [&](std::int64_t layer, tensor hidden) {
      const auto values = work_.get(hidden);
      auto& layers = feeds.front().sequence->layers;
      layers.resize(static_cast<std::size_t>(config().layers) + 1);
      auto& seen = layers[static_cast<std::size_t>(layer + 1)];
      seen.insert(seen.end(), values.begin(), values.end());
    };
  }
  const auto logits =
      work_.get(model_->forward(work_.stream(), batch_of(feeds, rows), *caches_, observer));
  auto at = logits.begin();
  for (const auto& [sequence, count] : feeds) {
    const auto size = static_cast<std::ptrdiff_t>(count * config().vocab_size);
    sequence->logits.insert(sequence->logits.end(), at, at + size);
    at += size;
    sequence->computed += count;
    drop(*sequence);
  }
  work_.clear();
}

void decoder_rig::run(rig_sequence& sequence, std::int64_t chunk) {
  const auto end = sequence.first + static_cast<std::int64_t>(sequence.tokens.size());
  while (sequence.computed < end) {
    const feed f{&sequence, std::min(chunk, end - sequence.computed)};
    step({&f, 1});
  }
}

std::vector<token_id> random_tokens(std::uint64_t seed, const text_config& config,
                                    std::int64_t count) {
  std::vector<token_id> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    const double u = uniform_draw({.seed = seed, .position = static_cast<std::uint64_t>(i)});
    tokens.push_back(static_cast<token_id>(u * static_cast<double>(config.vocab_size)));
  }
  return tokens;
}

}  // namespace glimmer
