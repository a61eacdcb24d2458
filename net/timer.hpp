#pragma once

#include <functional>

#include "base/clock.hpp"
#include "net/loop.hpp"

namespace glimmer {

/// Calls back on the loop's thread after a time, once or again and again. Resolution 1 ms.
class timer {
 public:
  timer(event_loop& loop, std::function<void()> on_due);
  ~timer();
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

  void once(duration after);
  void every(duration period);
  void stop();

 private:
  struct state;
  state* state_;  // freed by the loop after its close callback
};

}  // namespace glimmer
