#pragma once

#include <functional>
#include <vector>

#include "net/loop.hpp"

namespace glimmer {

/// Calls back on the loop's thread for each of the given signals (SIGTERM, SIGINT, SIGHUP). One
/// loop of the process watches; the default action of these signals is off while it lives.
class signals {
 public:
  signals(event_loop& loop, const std::vector<int>& numbers, std::function<void(int)> on_signal);
  ~signals();
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;

 private:
  struct state;
  std::vector<state*> states_;  // freed by the loop after their close callbacks
};

}  // namespace glimmer
