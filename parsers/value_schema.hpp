#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/json.hpp"

namespace glimmer {

/// A set of JSON types.
struct type_set {
  enum bit : std::uint8_t {
    null = 1,
    boolean = 2,
    integer = 4,
    fraction = 8,  ///< numbers that are no integers; "number" is both
    string = 16,
    array = 32,
    object = 64,
  };
  std::uint8_t bits = 0;
  bool has(bit which) const { return (bits & which) != 0; }
  friend bool operator==(type_set, type_set) = default;
};

/// The types `schema` allows; nullopt when it does not say. Local references are followed within
/// `root`; endless or very deep ones say nothing.
std::optional<type_set> allowed_types(const json& schema, const json& root);

/// Members of `const` and `enum`, also behind references and inside `anyOf` and `oneOf`, in order.
std::vector<json> listed_members(const json& schema, const json& root);

}  // namespace glimmer
