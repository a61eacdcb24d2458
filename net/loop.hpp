#pragma once

#include <functional>
#include <memory>

#include "base/clock.hpp"

extern "C" {
struct uv_loop_s;
}

namespace glimmer {

/// An event loop of one thread. Everything in net/ that is made on a loop belongs to the loop's
/// thread and must be destroyed before the loop; `post` alone may be called from any thread.
/// Make it on the thread that runs it: SIGPIPE is blocked there for good, so that a write to a
/// peer that left fails instead of ending the process. Other threads of a host are left alone.
class event_loop {
 public:
  event_loop();
  ~event_loop();
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;

  /// Runs callbacks until `stop`.
  void run();
  /// Makes `run` return after the callbacks in progress; from the loop's thread.
  void stop();
  /// Runs what is due now without waiting; for tests and owners with their own `while`.
  void poll();
  /// Waits for at least one event and runs what is due.
  void wait();

  /// Runs `work` on the loop's thread, in order of posting. Any thread. False once the loop is
  /// being destroyed; the work is then dropped.
  bool post(std::function<void()> work);

  /// Monotonic time, cached per turn of the loop.
  time_point now() const;

  /// The library's loop, for the other handles of this room.
  uv_loop_s* raw() const;
  struct state;
  state& internals() const { return *state_; }

 private:
  std::unique_ptr<state> state_;
};

}  // namespace glimmer
