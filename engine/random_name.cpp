#include "engine/random_name.hpp"

#include "base/random.hpp"

namespace glimmer {
namespace {

void append_hex(std::string& out, std::uint32_t word) {
  for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15];
}

}  // namespace

random_draw random_series::draw(std::uint64_t number) const {
  const auto words = philox4x32(
      {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32), 0, 0},
      {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
  random_draw out{.seed = std::uint64_t{words[0]} << 32 | words[1], .name = {}};
  out.name.reserve(24);
  for (const int i : {1, 2, 3}) append_hex(out.name, words[static_cast<std::size_t>(i)]);
  return out;
}

}  // namespace glimmer
