#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace glimmer {

/// Tokens of one sequence that have left its window: the client took them.
struct sequence_tokens_taken {
  sequence_id sequence;
  std::uint32_t tokens = 0;
};

/// More of one request's answer: body bytes, ready to be framed and written.
struct answer_piece {
  request_id request;
  std::string bytes;                              ///< may be empty
  std::vector<sequence_tokens_taken> stands_for;  ///< given back when the bytes were written
  bool stream = false;  ///< an event stream; a unary answer has its bytes in the last piece
  bool last = false;    ///< nothing follows; the request has ended
  bool broken = false;  ///< with `last`: the answer is not whole
};

}  // namespace glimmer
