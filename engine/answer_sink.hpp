#pragma once

#include <functional>
#include <string>

namespace glimmer {

/// A piece of an answer on its way to a client in this process: the same body bytes that HTTP
/// would carry, without HTTP.
struct answer_part {
  int status = 200;   ///< as HTTP would say; known with the first part
  std::string bytes;  ///< whole `data: ...` events of a stream, or the whole body
  bool last = false;  ///< nothing follows
};

/// Called for every part, in order, from an engine thread: must return soon and must not throw.
using answer_sink = std::function<void(const answer_part&)>;

}  // namespace glimmer
