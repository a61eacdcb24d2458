#include "tests/executor/draft_rig.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "tests/executor/plans.hpp"
#include "tests/model/golden.hpp"

namespace glimmer {
namespace {

constexpr std::size_t full = static_cast<std::size_t>(kv_group::full);
constexpr std::size_t sliding = static_cast<std::size_t>(kv_group::sliding);
constexpr std::int64_t rows_max = 400;

}  // namespace

draft_rig::draft_rig(const options& o) : options_{o}, home_{make_cpu_device({.threads = 2})} {
  const auto& target = synthetic_checkpoint("tiny");
  const auto& text = target.config.text;
  const auto source = open_draft_checkpoint(synthetic_head_folder(o.head), text);
  GLIMMER_ASSERT(source.has_value(), "a synthetic head passes every check");
  config_ = source->config;
  retained_ = std::max(text.window, config_.keys_seen());
  const activation_limits limits{.rows = rows_max, .wanted_rows = rows_max, .type = o.type};
  auto weights = load_weights(*home_, target);
  auto head_weights = load_draft_weights(*home_, *source);
  GLIMMER_ASSERT(weights && head_weights, "there is memory for the weights");
  auto model = decoder::make(*home_, text, std::move(*weights), limits);
  auto caches = kv_caches::allocate(
      *home_, text, kv_layout::of(text, o.block_size, o.type).with(config_, o.type), o.blocks);
  auto taps = feature_taps::allocate(*home_, config_, limits);
  auto head = draft_head::make(
      *home_, config_, std::move(*head_weights),
      {.block_rows = rows_max, .context_rows = 32, .logit_rows = 20, .type = o.type},
      text.vocab_size);
  GLIMMER_ASSERT(model && caches && taps && head, "there is memory for scratch and caches");
  steps_.emplace(*home_, std::move(*model), std::move(*caches),
                 executor_options{.sampling_threads = 2, .taps = std::move(*taps)});
  head_.emplace(*steps_, std::move(*head));
  for (std::size_t g = 0; g < kv_group_count; ++g) {
    for (block_id i = 0; i < o.blocks[g]; ++i) free_[g].push_back(i);
  }
  poison();
}

/// Fresh memory may hold anything; the head's holds NaN everywhere.
void draft_rig::poison() {
  const auto ground = steps_->ground();
  for (std::size_t i = 0; i < static_cast<std::size_t>(config_.layers); ++i) {
    const auto& layer = ground.caches->draft_layer(i);
    for (const auto& half : {layer.keys, layer.values}) {
      home_->upload(ground.stream, half, std::vector<std::byte>(half.bytes(), std::byte{0xFF}));
    }
  }
}

void draft_rig::reserve(drafted_sequence& s, std::int64_t positions) {
  const auto needed = (positions + options_.block_size - 1) / options_.block_size;
  for (std::size_t g = 0; g < kv_group_count; ++g) {
    const auto left = g == sliding ? s.left : 0;
    while (left + std::ssize(s.blocks[g]) < needed) {
      GLIMMER_ASSERT(!free_[g].empty(), "the rig has blocks enough");
      s.blocks[g].push_back(free_[g].front());
      free_[g].pop_front();
    }
  }
}

void draft_rig::leave_window(drafted_sequence& s) {
  const auto oldest = std::max<std::int64_t>(0, s.computed - retained_ + 1);
  while ((s.left + 1) * options_.block_size <= oldest) {
    free_[sliding].push_back(s.blocks[sliding].front());
    s.blocks[sliding].pop_front();
    ++s.left;
  }
}

step_plan draft_rig::plan_of(std::span<const work> all) {
  plan_writer plan{next_step_++};
  for (const auto& w : all) {
    auto& s = *w.sequence;
    if (s.id == 0) {
      s.id = next_id_++;
      s.prompt = s.tokens.size();
      plan.start(s.id, s.tokens, {.temperature = 0, .max_tokens = 1000});
    }
    const auto end = s.computed + w.count;
    reserve(s, end + std::ssize(w.drafts));
    plan_writer::rows rows{.id = s.id,
                           .position = static_cast<std::uint32_t>(s.computed),
                           .sample = end == std::ssize(s.tokens),
                           .drafts = static_cast<std::uint32_t>(w.drafts.size()),
                           .full = {s.blocks[full].begin(), s.blocks[full].end()},
                           .sliding = {s.blocks[sliding].begin(), s.blocks[sliding].end()},
                           .sliding_first_block = static_cast<std::uint32_t>(s.left)};
    rows.tokens.assign(s.tokens.begin() + s.computed, s.tokens.begin() + end);
    rows.tokens.insert(rows.tokens.end(), w.drafts.begin(), w.drafts.end());
    plan.add(rows);
  }
  auto out = plan.plan();
  out.copies = std::move(copies_);
  copies_.clear();
  return out;
}

/// Takes over what the step gave; returns the sequence's part of the draft plan, without its table.
draft_rows draft_rig::commit(const work& w, const sequence_rows& rows, const sequence_tokens& got) {
  auto& s = *w.sequence;
  GLIMMER_ASSERT(!got.failed, "tiny's logits are finite");
  const auto accepted = got.tokens.empty() ? 0 : std::ssize(got.tokens) - 1;
  const auto committed = w.count + accepted;
  s.tokens.insert(s.tokens.end(), got.tokens.begin(), got.tokens.end());
  s.computed += committed;
  leave_window(s);
  return {.id = rows.id,
          .row = rows.token_begin,
          .count = static_cast<std::uint32_t>(committed),
          .position = rows.position,
          .valid_from = static_cast<std::uint32_t>(s.valid_from),
          .anchor = got.tokens.empty() ? 0 : got.tokens.back(),
          .drafts = got.tokens.empty() ? 0 : w.wanted};
}

void draft_rig::step(std::span<const work> all) {
  const auto plan = plan_of(all);
  const auto result = steps_->run(plan);
  GLIMMER_ASSERT(result.has_value(), "the device works");
  draft_plan drafts{.id = plan.id};
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto rows = commit(all[i], plan.sequences[i], result->sequences[i]);
    const auto& s = *all[i].sequence;
    rows.table = {static_cast<std::uint32_t>(drafts.blocks.size()),
                  static_cast<std::uint32_t>(s.blocks[sliding].size()),
                  static_cast<std::uint32_t>(s.left)};
    drafts.blocks.insert(drafts.blocks.end(), s.blocks[sliding].begin(), s.blocks[sliding].end());
    drafts.sequences.push_back(rows);
    all[i].sequence->proposed.clear();
  }
  if (!drafting_) return;
  const auto proposals = head_->run(drafts);
  GLIMMER_ASSERT(proposals.has_value(), "the device works");
  auto next = proposals->sequences.begin();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (drafts.sequences[i].drafts > 0) all[i].sequence->proposed = (next++)->tokens;
  }
}

void draft_rig::prefill(drafted_sequence& s, std::int64_t chunk, std::uint32_t wanted) {
  const auto end = std::ssize(s.tokens);
  while (s.computed < end) {
    step({.sequence = &s, .count = std::min(chunk, end - s.computed), .wanted = wanted});
  }
}

drafted_sequence draft_rig::fork(const drafted_sequence& s, std::int64_t positions) {
  drafted_sequence out{.tokens = s.tokens, .computed = positions, .valid_from = s.valid_from};
  out.left = s.left;
  for (std::size_t g = 0; g < kv_group_count; ++g) {
    const auto left = g == sliding ? s.left : 0;
    const auto blocks = (positions + options_.block_size - 1) / options_.block_size - left;
    out.blocks[g].assign(s.blocks[g].begin(), s.blocks[g].begin() + blocks);
    if (positions % options_.block_size == 0) continue;
    const auto own = free_[g].front();
    free_[g].pop_front();
    copies_.push_back({static_cast<kv_group>(g), out.blocks[g].back(), own});
    out.blocks[g].back() = own;
  }
  return out;
}

void draft_rig::finish(drafted_sequence& s) {
  for (std::size_t g = 0; g < kv_group_count; ++g) {
    for (const auto block : s.blocks[g]) free_[g].push_back(block);
    s.blocks[g].clear();
  }
}

std::vector<float> draft_rig::row_at(const drafted_sequence& s, std::int64_t position) {
  const auto size = options_.block_size;
  const auto block = s.blocks[sliding][static_cast<std::size_t>(position / size - s.left)];
  const auto ground = steps_->ground();
  std::vector<float> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(config_.layers); ++i) {
    const auto& layer = ground.caches->draft_layer(i);
    for (const auto& half : {layer.keys, layer.values}) {
      const auto flat = half.reshaped({half.count() / config_.head_dim, config_.head_dim});
      for (std::int64_t head = 0; head < config_.kv_heads; ++head) {
        const auto row = flat.rows({(block * config_.kv_heads + head) * size + position % size, 1});
        std::vector<std::byte> bytes(row.bytes());
        home_->download(ground.stream, bytes, row);
        home_->wait(home_->record(ground.stream));
        const auto width = size_of(options_.type);
        for (std::size_t at = 0; at < bytes.size(); at += width) {
          std::uint32_t bits = 0;
          std::copy_n(bytes.data() + at, width, reinterpret_cast<std::byte*>(&bits));
          out.push_back(std::bit_cast<float>(width == 2 ? bits << 16 : bits));
        }
      }
    }
  }
  return out;
}

std::vector<float> draft_rig::context_rows(const drafted_sequence& s) {
  std::vector<float> out;
  for (auto p = std::max<std::int64_t>(0, s.computed - config_.window); p < s.computed; ++p) {
    const auto row = row_at(s, p);
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

}  // namespace glimmer
