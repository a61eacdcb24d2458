#include "tokenizer/byte_table.hpp"

#include <algorithm>
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

/// Up to 8 bytes as one number, filled up with zeros.
std::uint64_t head_of(std::string_view key) {
  const char* const p = key.data();
  const auto n = key.size();
  if (n >= 8) return load<std::uint64_t>(p);
  if (n >= 4) {
    return load<std::uint32_t>(p) | load<std::uint32_t>(p + n - 4) << 8 * (n - 4);
  }
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < n; ++i) out |= load<std::uint8_t>(p + i) << 8 * i;
  return out;
}

std::uint32_t hash_of(std::string_view key, std::uint64_t head) {
  constexpr std::uint64_t prime = 0x9e3779b97f4a7c15;
  std::uint64_t hash = key.size() * prime;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * prime;
    hash ^= hash >> 29;
  };
  mix(head);
  while (key.size() > 8) {
    key.remove_prefix(8);
    mix(head_of(key));
  }
  hash *= prime;
  return static_cast<std::uint32_t>(hash >> 32);
}

}  // namespace

hashed_bytes::hashed_bytes(std::string_view key)
    : bytes{key},
      head{head_of(key)},
      tag{(hash_of(key, head) & ~std::uint32_t{15}) |
          static_cast<std::uint32_t>(std::min(key.size(), head_max + 1))} {}

void byte_table::reserve(std::size_t count) {
  const std::size_t wanted = std::bit_ceil(count * 2 + 2);
  if (wanted > slots_.size()) grow_to(wanted);
}

void byte_table::place(slot filed) {
  std::size_t i = place_of(filed.tag);
  while (slots_[i].value != unused) i = (i + 1) & mask();
  slots_[i] = filed;
}

void byte_table::grow_to(std::size_t slot_count) {
  const std::vector<slot> old = std::exchange(slots_, std::vector<slot>(slot_count));
  for (const slot& s : old) {
    if (s.value != unused) place(s);
  }
}

void byte_table::insert(std::string_view key, std::uint32_t value) {
  reserve(++used_);
  const hashed_bytes hashed{key};
  place({hashed.head, hashed.tag, value});
}

}  // namespace glimmer
