#pragma once

#include <cstdint>
#include <string>

namespace glimmer {

/// What the `number`-th thing of a series is given, drawn by a key that nobody outside knows.
struct random_draw {
  std::uint64_t seed = 0;
  std::string name;  ///< 24 hexadecimal digits
};

/// A series of draws, by its key.
struct random_series {
  std::uint64_t key = 0;
  random_draw draw(std::uint64_t number) const;
};

}  // namespace glimmer
