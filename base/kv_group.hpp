#pragma once

#include <cstddef>
#include <cstdint>

namespace glimmer {

/// Layers that share a cache rule: `full` ones keep every key, `sliding` ones a window of them.
enum class kv_group : std::uint8_t { full, sliding };
inline constexpr std::size_t kv_group_count = 2;

}  // namespace glimmer
