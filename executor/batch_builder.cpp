#include "executor/batch_builder.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace glimmer {
namespace {

std::size_t index_of(kv_group group) {
  return static_cast<std::size_t>(group);
}

}  // namespace

const host_batch& batch_builder::build(const step_plan& plan,
                                       std::span<const std::int32_t> wanted) {
  lay_out(plan, wanted.size());
  fill_rows(plan);
  std::copy(wanted.begin(), wanted.end(), batch_.data(batch_.wanted));
  fill_group(plan, kv_group::full);
  fill_group(plan, kv_group::sliding);
  return batch_;
}

void batch_builder::lay_out(const step_plan& plan, std::size_t wanted) {
  const auto rows = plan.tokens.size();
  const auto sequences = plan.sequences.size();
  batch_.ints.clear();
  batch_.tokens = batch_.reserve(rows);
  batch_.positions = batch_.reserve(rows);
  batch_.wanted = batch_.reserve(wanted);
  batch_.row_begin = batch_.reserve(sequences + 1);
  batch_.first_position = batch_.reserve(sequences);
  for (std::size_t g = 0; g < kv_group_count; ++g) {
    auto& places = batch_.groups[g];
    places.blocks_max = 0;
    for (const auto& s : plan.sequences)
      places.blocks_max = std::max<std::size_t>(places.blocks_max, s.tables[g].count);
    places.slots = batch_.reserve(rows);
    places.block_table = batch_.reserve(sequences * places.blocks_max);
    places.first_block = batch_.reserve(sequences);
  }
}

void batch_builder::fill_rows(const step_plan& plan) {
  batch_.rows_max = 0;
  batch_.position_max = 0;
  std::uint32_t next_row = 0;
  auto* const row_begin = batch_.data(batch_.row_begin);
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    const auto& s = plan.sequences[i];
    GLIMMER_ASSERT(s.token_begin == next_row && s.count > 0, "rows lie side by side");
    row_begin[i] = static_cast<std::int32_t>(next_row);
    batch_.data(batch_.first_position)[i] = static_cast<std::int32_t>(s.position);
    for (std::uint32_t r = 0; r < s.count; ++r)
      batch_.data(batch_.positions)[next_row + r] = static_cast<std::int32_t>(s.position + r);
    next_row += s.count;
    batch_.rows_max = std::max<std::int64_t>(batch_.rows_max, s.count);
    batch_.position_max = std::max<std::int64_t>(batch_.position_max, s.position + s.count - 1);
  }
  GLIMMER_ASSERT(next_row == plan.tokens.size(), "every token belongs to a sequence");
  row_begin[plan.sequences.size()] = static_cast<std::int32_t>(next_row);
  for (const auto token : plan.tokens)
    GLIMMER_ASSERT(token >= 0 && token < shape_.vocab_size, "prompts hold tokens of this model");
  std::copy(plan.tokens.begin(), plan.tokens.end(), batch_.data(batch_.tokens));
}

void batch_builder::fill_group(const step_plan& plan, kv_group group) {
  const auto& places = batch_.groups[index_of(group)];
  const auto block_size = static_cast<std::uint32_t>(shape_.block_size);
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    const auto& s = plan.sequences[i];
    const auto& table = s.tables[index_of(group)];
    GLIMMER_ASSERT(table.begin + table.count <= plan.blocks.size(), "tables lie in the plan");
    check_coverage(s, group);
    const auto blocks = std::span{plan.blocks}.subspan(table.begin, table.count);
    for (const auto block : blocks)
      GLIMMER_ASSERT(block >= 0 && block < shape_.blocks[index_of(group)], "blocks of this pool");
    std::copy(blocks.begin(), blocks.end(),
              batch_.data(places.block_table) + i * places.blocks_max);
    batch_.data(places.first_block)[i] = static_cast<std::int32_t>(table.first_block);
    for (std::uint32_t r = 0; r < s.count; ++r) {
      const auto position = s.position + r;
      const auto block = blocks[position / block_size - table.first_block];
      batch_.data(places.slots)[s.token_begin + r] =
          static_cast<std::int32_t>(block * shape_.block_size + position % block_size);
    }
  }
}

void batch_builder::check_coverage(const sequence_rows& rows, kv_group group) const {
  const auto& table = rows.tables[index_of(group)];
  const std::int64_t first_row = rows.position;
  const std::int64_t oldest_key =
      group == kv_group::full ? 0 : std::max<std::int64_t>(0, first_row - shape_.window + 1);
  GLIMMER_ASSERT(table.first_block * shape_.block_size <= oldest_key,
                 "the table begins no later than the oldest key a row sees");
  GLIMMER_ASSERT((table.first_block + table.count) * shape_.block_size >= first_row + rows.count,
                 "the table has a slot for every row");
}

result<forward_batch> batch_builder::upload(device& home, stream_handle s) {
  if (auto sent = device_.send(home, s, batch_); !sent) return fail(sent.error());
  const auto view = [&](array_place p) { return device_.view(p); };
  forward_batch out;
  out.tokens = view(batch_.tokens);
  out.positions = view(batch_.positions);
  out.wanted = view(batch_.wanted);
  for (std::size_t g = 0; g < kv_group_count; ++g) {
    const auto& places = batch_.groups[g];
    const auto sequences = static_cast<std::int64_t>(batch_.first_position.count);
    out.slots[g] = view(places.slots);
    out.layout[g] = {
        .row_begin = view(batch_.row_begin),
        .first_position = view(batch_.first_position),
        .block_table = view(places.block_table)
                           .reshaped({sequences, static_cast<std::int64_t>(places.blocks_max)}),
        .first_block = view(places.first_block),
        .rows_max = batch_.rows_max,
        .position_max = batch_.position_max};
  }
  return out;
}

}  // namespace glimmer
