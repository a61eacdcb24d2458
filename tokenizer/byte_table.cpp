#include "tokenizer/byte_table.hpp"

#include <bit>
#include <cstring>
#include <utility>

namespace glimmer {

std::uint64_t byte_table::hash_of(std::string_view key) {
  constexpr std::uint64_t prime = 0x9e3779b97f4a7c15;
  std::uint64_t hash = key.size() * prime;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * prime;
    hash ^= hash >> 29;
  };
  while (key.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, key.data(), 8);
    mix(word);
    key.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, key.data(), key.size());
  mix(rest);
  hash *= prime;
  return hash ^ hash >> 32;
}

void byte_table::reserve(std::size_t count) {
  const std::size_t wanted = std::bit_ceil(count * 2 + 2);
  if (wanted > slots_.size()) grow_to(wanted);
}

void byte_table::place(std::uint64_t hash, std::uint32_t value) {
  std::size_t i = hash & mask();
  while (slots_[i].used) i = (i + 1) & mask();
  slots_[i] = {hash, value, true};
}

void byte_table::grow_to(std::size_t slot_count) {
  const std::vector<slot> old = std::exchange(slots_, std::vector<slot>(slot_count));
  for (const slot& s : old) {
    if (s.used) place(s.hash, s.value);
  }
}

void byte_table::insert(std::string_view key, std::uint32_t value) {
  reserve(++used_);
  place(hash_of(key), value);
}

}  // namespace glimmer
