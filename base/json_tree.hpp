#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace glimmer {

namespace detail {

/// One value. Nodes stand in the order of the text; the name of a member is a string node right
/// before its value. 12 bytes, so that a body of numbers grows six-fold at most.
struct json_node {
  std::uint32_t offset = 0;     ///< string, number: first byte in text; container: first child
  std::uint32_t size = 0;       ///< string, number: bytes; container: children; boolean: 0 or 1
  std::uint32_t next : 28 = 0;  ///< following sibling, 0 = none
  std::uint32_t kind : 3 = 0;
  std::uint32_t member : 1 = 0;  ///< has a name
};

struct json_tree {
  std::string text;  ///< the source, strings unescaped in place
  std::vector<json_node> nodes;
};

}  // namespace detail

}  // namespace glimmer
