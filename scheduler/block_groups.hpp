#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "base/kv_group.hpp"

namespace glimmer {

/// One value per KV group.
template <class T>
using per_group = std::array<T, kv_group_count>;

inline constexpr std::array all_kv_groups = {kv_group::full, kv_group::sliding};
constexpr std::size_t index_of(kv_group group) {
  return static_cast<std::size_t>(group);
}

/// Blocks wanted of each pool.
using block_need = per_group<std::uint32_t>;

/// The blocks one sequence uses in one group: entry i holds positions
/// [(first_block + i) * block_size, + block_size).
struct group_blocks {
  std::vector<block_id> blocks;
  std::uint32_t first_block = 0;
  std::uint32_t end_block() const {
    return first_block + static_cast<std::uint32_t>(blocks.size());
  }
};

}  // namespace glimmer
