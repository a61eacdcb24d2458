#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace glimmer {

/// Open-addressing index from byte strings to numbers; the strings live elsewhere and are read
/// back through the caller. Filled once, then only read. No deletion.
class byte_table {
 public:
  /// Room for `count` entries at half load.
  void reserve(std::size_t count);

  /// Files `value` under `key`'s hash; the caller knows that the key is new.
  void insert(std::string_view key, std::uint32_t value);

  /// First filed value for which `same(value)` holds among those with the key's hash; else none.
  template <class Same>
  const std::uint32_t* find(std::string_view key, Same same) const {
    if (slots_.empty()) return nullptr;
    const std::uint64_t hash = hash_of(key);
    for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
      const slot& s = slots_[i];
      if (!s.used) return nullptr;
      if (s.hash == hash && same(s.value)) return &s.value;
    }
  }

 private:
  struct slot {
    std::uint64_t hash = 0;
    std::uint32_t value = 0;
    bool used = false;
  };

  static std::uint64_t hash_of(std::string_view key);
  std::size_t mask() const { return slots_.size() - 1; }
  void place(std::uint64_t hash, std::uint32_t value);
  void grow_to(std::size_t slot_count);

  std::vector<slot> slots_;  // a power of two
  std::size_t used_ = 0;
};

}  // namespace glimmer
