#pragma once

#include <cstdint>
#include <initializer_list>

namespace glimmer {

namespace {

constexpr std::int64_t tile_rows_max = 16;
constexpr std::int64_t tile_row_bytes = 64;
constexpr std::int64_t tile_bytes = tile_rows_max * tile_row_bytes;

/// Extents of the tiles: rows of registers 0, 1, 4 and of 2, 3, 5, and columns of x, in bytes.
struct tile_extent {
  std::int64_t rows = 0;
  std::int64_t more_rows = 0;
  std::int64_t row_bytes = 0;

  bool operator==(const tile_extent&) const = default;
};

/// The tile registers of this thread, in use.
class tile_registers {
 public:
  tile_registers() = default;
  ~tile_registers() { asm volatile("tilerelease"); }
  tile_registers(const tile_registers&) = delete;
  tile_registers& operator=(const tile_registers&) = delete;

  /// What they held is gone if the extents change.
  void shape(const tile_extent& extent) {
    if (extent == now_) return;
    now_ = extent;
    configuration c;
    for (const int sums : {0, 1, 2, 3})
      c.set(sums, sums < 2 ? extent.rows : extent.more_rows, tile_row_bytes);
    c.set(4, extent.rows, extent.row_bytes);
    c.set(5, extent.more_rows, extent.row_bytes);
    for (const int weights : {6, 7}) c.set(weights, extent.row_bytes / 4, tile_row_bytes);
    asm volatile("ldtilecfg %0" ::"m"(c));
  }

 private:
  /// As the processor reads it.
  struct alignas(64) configuration {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};

    /// Rows without any make a register that must not be used.
    void set(int tile, std::int64_t count, std::int64_t bytes) {
      rows[tile] = static_cast<std::uint8_t>(count);
      row_bytes[tile] = static_cast<std::uint16_t>(count == 0 ? 0 : bytes);
    }
  };
  static_assert(sizeof(configuration) == 64);

  tile_extent now_;
};

// What a tile register does. Its number is part of the instruction, so it is a template argument
// here.

template <int Tile>
[[gnu::always_inline]] inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(Tile));
}

/// Rows lie `stride` bytes apart. What was written to them before must be in memory: see
/// `before_tiles_load`.
template <int Tile>
[[gnu::always_inline]] inline void load_tile(const void* from, std::int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(Tile));
}

template <int Tile>
[[gnu::always_inline]] inline void store_tile(void* to, std::int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(Tile) : "memory");
}

/// Sums += X * W of bf16 in pairs.
template <int Sums, int X, int W>
[[gnu::always_inline]] inline void add_pair_products() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(X), "i"(W));
}

/// Sums += X * W of signed bytes in fours.
template <int Sums, int X, int W>
[[gnu::always_inline]] inline void add_byte_products() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(X), "i"(W));
}

/// The compiler does not see that tiles read memory.
[[gnu::always_inline]] inline void before_tiles_load() {
  asm volatile("" ::: "memory");
}

}  // namespace

}  // namespace glimmer
