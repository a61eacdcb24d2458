#include "scheduler/invariants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace glimmer {

namespace {

std::optional<std::string> broken_pool(const block_manager& blocks, kv_group group,
                                       std::span<const sequence* const> sequences) {
  const auto& pool = blocks.pool(group);
  const auto g = index_of(group);
  if (!pool.consistent()) return fmt::format("the lists of pool {} disagree with its slots", g);
  std::vector<std::uint32_t> users(pool.counts().all);
  for (const auto* s : sequences) {
    for (const auto id : s->blocks.groups[g].blocks) ++users[static_cast<std::size_t>(id)];
  }
  for (std::size_t id = 0; id < users.size(); ++id) {
    const auto counted = pool.references(static_cast<block_id>(id));
    if (users[id] != counted) {
      return fmt::format("block {} of pool {} counts {} users, but {} tables name it", id, g,
                         counted, users[id]);
    }
  }
  return std::nullopt;
}

// A table must begin at or before the first block the next query sees, and reach `computed`.
std::optional<std::string> broken_table(const block_manager& blocks, kv_group group,
                                        const sequence& s) {
  const auto& held = s.blocks.groups[index_of(group)];
  if (s.blocks.empty()) {
    if (s.computed == 0) return std::nullopt;
    return fmt::format("sequence {} has computed {} tokens and holds no block", s.id.value,
                       s.computed);
  }
  const auto covered = std::uint64_t{held.end_block()} * blocks.block_size();
  const auto first = blocks.first_visible_block(group, s.computed);
  const bool needs_front = std::uint64_t{first} * blocks.block_size() < s.computed;
  if (covered < s.computed || (needs_front && held.first_block > first)) {
    return fmt::format("sequence {} computed {}, but its table {} holds blocks [{}, {})",
                       s.id.value, s.computed, index_of(group), held.first_block, held.end_block());
  }
  if (!s.in_step && !s.in_draft && held.first_block < first && !held.blocks.empty()) {
    return fmt::format("sequence {} still holds block {} behind its window", s.id.value,
                       held.first_block);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_block_book(const block_manager& blocks,
                                             std::span<const sequence* const> sequences) {
  if (!blocks.consistent()) return "an unused block is known and not cached, or the reverse";
  for (const auto group : all_kv_groups) {
    if (auto broken = broken_pool(blocks, group, sequences)) return broken;
    for (const auto* s : sequences) {
      if (auto broken = broken_table(blocks, group, *s)) return broken;
    }
  }
  return std::nullopt;
}

std::optional<std::string> broken_sequence(const sequence& s) {
  const auto says = [&](std::string_view what) {
    return fmt::format("sequence {}: {}", s.id.value, what);
  };
  if (s.computed > s.total()) return says("computed more tokens than it has");
  if (s.output.size() > s.output_max) return says("has more output than it may");
  if (s.state == sequence_state::ended) {
    if (!s.in_step && !s.in_draft) {
      return says("has ended, has no rows in flight, and is still there");
    }
    return std::nullopt;
  }
  if (s.pending() == 0) return says("has nothing left to compute and has not ended");
  if (s.in_step && s.state != sequence_state::running) return says("is in a step without a slot");
  if (!s.drafts.empty() && (s.pending() != 1 || s.blocks.empty())) {
    return says("has drafts that follow nothing it has computed");
  }
  if ((s.state == sequence_state::parked) != (s.window == 0)) {
    return says("is parked with an open window, or runs with a closed one");
  }
  if ((s.state == sequence_state::following) != (s.leader != nullptr)) {
    return says("follows nobody, or has a leader without following");
  }
  if (s.state == sequence_state::following && !s.blocks.empty()) {
    return says("follows and holds blocks");
  }
  return std::nullopt;
}

}  // namespace glimmer
