#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/ids.hpp"
#include "scheduler/sequence_output.hpp"

namespace glimmer {

/// The parser that all choices of a request are pinned to.
constexpr std::size_t parser_of(request_id request, std::size_t parsers) {
  return request.value % parsers;
}

/// Splits what a step brought into one share per parser, order kept; nothing for parsers that
/// have none.
std::vector<std::shared_ptr<const committed>> route_step(committed step, std::size_t parsers);

}  // namespace glimmer
