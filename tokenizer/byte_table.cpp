#include "tokenizer/byte_table.hpp"

#include <bit>
#include <cstring>
#include <utility>

namespace glimmer {

namespace {

template <class Word>
std::uint64_t load(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// Fewer than 8 bytes as one number; of two keys of one length no two are the same.
std::uint64_t last_bytes(std::string_view key) {
  const char* const p = key.data();
  const auto n = key.size();
  if (n >= 4) return load<std::uint32_t>(p) | load<std::uint32_t>(p + n - 4) << 32;
  if (n == 0) return 0;
  return load<std::uint8_t>(p) | load<std::uint8_t>(p + n / 2) << 8 |
         load<std::uint8_t>(p + n - 1) << 16;
}

}  // namespace

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
  mix(last_bytes(key));
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
