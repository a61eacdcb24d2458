#pragma once

#include <cstdint>

namespace glimmer {

/// Scrambles 64 bits (the finaliser of splitmix64).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Inclusive bounds of a throw.
struct span_of {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
};

/// Seeded chance: the same seed throws the same numbers.
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_{mix(seed)} {}

  std::uint64_t next() { return mix(state_++); }
  std::uint32_t in(span_of bounds) {
    return bounds.low + static_cast<std::uint32_t>(next() % (bounds.high - bounds.low + 1));
  }
  bool percent(std::uint32_t chance) { return next() % 100 < chance; }
  bool permille(std::uint32_t chance) { return next() % 1000 < chance; }

 private:
  std::uint64_t state_;
};

}  // namespace glimmer
