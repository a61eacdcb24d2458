#pragma once

#include <uv.h>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "net/loop.hpp"
#include "net/wakeup.hpp"

namespace glimmer {

/// Inside of a loop, for this room alone.
struct event_loop::state {
  uv_loop_t loop{};
  /// One buffer serves all connections: bytes are handed on before the next read.
  std::array<char, 64 << 10> read_buffer;

  std::mutex mutex;  // guards the two below
  std::vector<std::function<void()>> posted;
  bool closed = false;

  std::unique_ptr<wakeup> wake;
};

}  // namespace glimmer
