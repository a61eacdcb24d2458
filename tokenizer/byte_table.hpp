#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace glimmer {

/// Bytes and what a table needs to know of them, so that it may be asked to fetch them long before
/// they are looked up.
struct hashed_bytes {
  /// Up to here the bytes are in the head, whole.
  static constexpr std::size_t head_max = 8;

  hashed_bytes() = default;
  explicit hashed_bytes(std::string_view key);
  bool is_short() const { return bytes.size() <= head_max; }

  std::string_view bytes;
  std::uint64_t head = 0;  ///< the first 8 bytes, or all and zeros
  std::uint32_t tag = 0;   ///< a hash, in its last 4 bits the length; all long ones count as 9
};

/// Open-addressing index from byte strings to numbers. Short strings lie in the table, long ones
/// elsewhere and are read back through the caller. Filled once, then only read. No deletion.
class byte_table {
 public:
  /// Room for `count` entries at half load.
  void reserve(std::size_t count);

  /// Files `value`, which is not 2^32 - 1, under `key`, which the caller knows to be new.
  void insert(std::string_view key, std::uint32_t value);

  /// The value filed under `key`, or none. `same(value)` says of a long key whether it is that
  /// value's.
  template <class Same>
  const std::uint32_t* find(const hashed_bytes& key, Same same) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = place_of(key.tag);; i = (i + 1) & mask()) {
      const slot& s = slots_[i];
      if (s.value == unused) return nullptr;
      if (s.tag != key.tag || s.head != key.head) continue;
      if (key.is_short() || same(s.value)) return &s.value;
    }
  }
  template <class Same>
  const std::uint32_t* find(std::string_view key, Same same) const {
    return find(hashed_bytes{key}, same);
  }
  /// Brings what `find` reads first into the cache. A large table is in none by itself.
  void fetch(const hashed_bytes& key) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[place_of(key.tag)]);
  }

 private:
  static constexpr std::uint32_t unused = ~std::uint32_t{0};
  struct slot {
    std::uint64_t head = 0;
    std::uint32_t tag = 0;
    std::uint32_t value = unused;
  };

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t place_of(std::uint32_t tag) const { return tag >> 4 & mask(); }
  void place(slot filed);
  void grow_to(std::size_t slot_count);

  std::vector<slot> slots_;  // a power of two
  std::size_t used_ = 0;
};

}  // namespace glimmer
