#include "base/random.hpp"

namespace glimmer {
namespace {

constexpr std::uint32_t multiplier_a = 0xD2511F53u;
constexpr std::uint32_t multiplier_b = 0xCD9E8D57u;
constexpr std::uint32_t weyl_a = 0x9E3779B9u;
constexpr std::uint32_t weyl_b = 0xBB67AE85u;

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const auto a = std::uint64_t{multiplier_a} * counter[0];
    const auto b = std::uint64_t{multiplier_b} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += weyl_a;
    key[1] += weyl_b;
  }
  return counter;
}

double uniform_draw(random_key key) {
  const auto words = philox4x32(
      {static_cast<std::uint32_t>(key.position), static_cast<std::uint32_t>(key.position >> 32),
       key.stream, 0},
      {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
  const auto bits = (std::uint64_t{words[0]} << 32 | words[1]) >> 12;  // 52 bits
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;  // exact, so never 0 and never 1
}

std::uint64_t choice_seed(std::uint64_t seed, std::uint32_t choice) {
  if (choice == 0) return seed;  // n = 1 and the first of many draw alike
  const auto words = philox4x32({choice, 0, 0, 0xC401CE}, {static_cast<std::uint32_t>(seed),
                                                           static_cast<std::uint32_t>(seed >> 32)});
  return std::uint64_t{words[0]} << 32 | words[1];
}

}  // namespace glimmer
