#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.hpp"
#include "scheduler/sequence_output.hpp"

namespace glimmer {

/// The parser that all choices of a request are pinned to.
constexpr std::size_t parser_of(request_id request, std::size_t parsers) {
  return request.value % parsers;
}

/// Which of `tokenizers` reads a body. Long ones keep to the first half, so that a short one never
/// waits behind a long one where there are two tokenizers or more.
constexpr std::size_t tokenizer_of(request_id request, std::size_t body_bytes,
                                   std::uint32_t tokenizers) {
  constexpr std::size_t long_body_bytes = 16 << 10;
  const std::size_t for_long = (tokenizers + 1) / 2;
  if (tokenizers == 1) return 0;
  if (body_bytes >= long_body_bytes) return request.value % for_long;
  return for_long + request.value % (tokenizers - for_long);
}

/// Splits what a step brought into one share per parser, order kept; nothing for parsers that
/// have none.
std::vector<std::shared_ptr<const committed>> route_step(committed step, std::size_t parsers);

}  // namespace glimmer
