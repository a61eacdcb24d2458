#include "executor/draft_batch.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace glimmer {
namespace {

/// Where the anchor stands.
std::int64_t anchor_position(const draft_rows& rows) {
  return static_cast<std::int64_t>(rows.position) + rows.count;
}

std::span<const block_id> blocks_of(const draft_plan& plan, const draft_rows& rows) {
  return std::span{plan.blocks}.subspan(rows.table.begin, rows.table.count);
}

}  // namespace

const host_draft_batch& draft_batch_builder::build(const draft_plan& plan) {
  for (const auto& rows : plan.sequences) check(plan, rows);
  lay_out(plan);
  fill_context(plan);
  blocks_filled_ = 0;
  for (const auto& rows : plan.sequences) {
    if (rows.drafts > 0) fill_block(plan, rows);
  }
  return batch_;
}

/// The first of the sequence's new positions that its table still holds.
std::int64_t draft_batch_builder::first_written(const draft_rows& rows) const {
  const std::int64_t held = rows.table.first_block * shape_.block_size;
  return std::clamp<std::int64_t>(held, rows.position, anchor_position(rows));
}

/// What the table no longer holds is not valid either.
std::int64_t draft_batch_builder::valid_from(const draft_rows& rows) const {
  const std::int64_t held = rows.table.first_block * shape_.block_size;
  return std::min(std::max<std::int64_t>(rows.valid_from, held), anchor_position(rows));
}

void draft_batch_builder::check(const draft_plan& plan, const draft_rows& rows) const {
  GLIMMER_ASSERT(rows.table.begin + rows.table.count <= plan.blocks.size(),
                 "tables lie in the plan");
  for (const auto block : blocks_of(plan, rows))
    GLIMMER_ASSERT(block >= 0 && block < shape_.blocks, "blocks of this pool");
  GLIMMER_ASSERT(rows.count == 0 || rows.row + rows.count <= shape_.feature_rows,
                 "rows of the step whose residuals are held");
  const auto held = (rows.table.first_block + rows.table.count) * shape_.block_size;
  const bool writes = first_written(rows) < anchor_position(rows);
  const bool reads = rows.drafts > 0 && valid_from(rows) < anchor_position(rows);
  GLIMMER_ASSERT(!(writes || reads) || held >= anchor_position(rows),
                 "the table reaches up to the anchor");
  GLIMMER_ASSERT(rows.drafts <= shape_.drafts_max, "the head was trained for blocks no longer");
  GLIMMER_ASSERT(rows.anchor >= 0 && rows.anchor < shape_.vocab_size, "the anchor is a token");
}

void draft_batch_builder::lay_out(const draft_plan& plan) {
  std::size_t written = 0;
  std::size_t drafts = 0;
  std::size_t blocks = 0;
  batch_.columns = 0;
  batch_.rows_max = 0;
  batch_.position_max = 0;
  for (const auto& rows : plan.sequences) {
    written += static_cast<std::size_t>(anchor_position(rows) - first_written(rows));
    if (rows.drafts == 0) continue;
    ++blocks;
    drafts += rows.drafts;
    batch_.columns = std::max<std::size_t>(batch_.columns, rows.table.count);
    batch_.rows_max = std::max<std::int64_t>(batch_.rows_max, rows.drafts + 1);
    batch_.position_max = std::max(batch_.position_max, anchor_position(rows) + rows.drafts);
  }
  batch_.ints.clear();
  batch_.context = batch_.reserve(written);
  batch_.context_positions = batch_.reserve(written);
  batch_.context_slots = batch_.reserve(written);
  batch_.tokens = batch_.reserve(drafts + blocks);
  batch_.positions = batch_.reserve(drafts + blocks);
  batch_.wanted = batch_.reserve(drafts);
  batch_.row_begin = batch_.reserve(blocks + 1);
  batch_.first_position = batch_.reserve(blocks);
  batch_.valid_from = batch_.reserve(blocks);
  batch_.block_table = batch_.reserve(blocks * batch_.columns);
  batch_.first_block = batch_.reserve(blocks);
}

void draft_batch_builder::fill_context(const draft_plan& plan) {
  auto* row = batch_.data(batch_.context);
  auto* position = batch_.data(batch_.context_positions);
  auto* slot = batch_.data(batch_.context_slots);
  for (const auto& rows : plan.sequences) {
    const auto blocks = blocks_of(plan, rows);
    for (auto p = first_written(rows); p < anchor_position(rows); ++p) {
      const auto column = p / shape_.block_size - rows.table.first_block;
      const auto block = blocks[static_cast<std::size_t>(column)];
      *row++ = static_cast<std::int32_t>(rows.row + (p - rows.position));
      *position++ = static_cast<std::int32_t>(p);
      *slot++ = static_cast<std::int32_t>(block * shape_.block_size + p % shape_.block_size);
    }
  }
}

void draft_batch_builder::fill_block(const draft_plan& plan, const draft_rows& rows) {
  const auto i = blocks_filled_++;
  auto* const row_begin = batch_.data(batch_.row_begin);
  const auto begin = row_begin[i];
  const auto wanted = begin - static_cast<std::int32_t>(i);  // an anchor for each block before
  const auto drafts = static_cast<std::int32_t>(rows.drafts);
  row_begin[i + 1] = begin + drafts + 1;
  for (std::int32_t r = 0; r <= drafts; ++r) {
    batch_.data(batch_.tokens)[begin + r] = r == 0 ? rows.anchor : shape_.mask_token;
    batch_.data(batch_.positions)[begin + r] = static_cast<std::int32_t>(anchor_position(rows)) + r;
    if (r > 0) batch_.data(batch_.wanted)[wanted + r - 1] = begin + r;
  }
  batch_.data(batch_.first_position)[i] = static_cast<std::int32_t>(anchor_position(rows));
  batch_.data(batch_.valid_from)[i] = static_cast<std::int32_t>(valid_from(rows));
  batch_.data(batch_.first_block)[i] = static_cast<std::int32_t>(rows.table.first_block);
  std::ranges::copy(blocks_of(plan, rows), batch_.data(batch_.block_table) + i * batch_.columns);
}

result<void> draft_batch_builder::upload(device& home, stream_handle s) {
  return device_.send(home, s, batch_);
}

context_rows draft_batch_builder::context(tensor features) const {
  return {.features = features,
          .rows = device_.view(batch_.context),
          .positions = device_.view(batch_.context_positions),
          .slots = device_.view(batch_.context_slots)};
}

draft_blocks draft_batch_builder::blocks() const {
  const auto count = static_cast<std::int64_t>(batch_.first_position.count);
  return {
      .tokens = device_.view(batch_.tokens),
      .positions = device_.view(batch_.positions),
      .wanted = device_.view(batch_.wanted),
      .valid_from = device_.view(batch_.valid_from),
      .layout = {.row_begin = device_.view(batch_.row_begin),
                 .first_position = device_.view(batch_.first_position),
                 .block_table = device_.view(batch_.block_table)
                                    .reshaped({count, static_cast<std::int64_t>(batch_.columns)}),
                 .first_block = device_.view(batch_.first_block),
                 .rows_max = batch_.rows_max,
                 .position_max = batch_.position_max}};
}

}  // namespace glimmer
