#pragma once

#include <functional>
#include <memory>

#include "net/loop.hpp"

namespace glimmer {

/// The far end of a wakeup: rings from any thread, also when the loop has long gone.
class bell {
 public:
  /// Makes the callback run on the loop's thread, once for many rings in a row. False if the
  /// wakeup was destroyed.
  bool ring();

 private:
  friend class wakeup;
  struct state;
  explicit bell(std::shared_ptr<state> shared) : shared_{std::move(shared)} {}
  std::shared_ptr<state> shared_;
};

/// Calls `on_ring` on the loop's thread after any thread rang. Made and destroyed on the loop's
/// thread.
class wakeup {
 public:
  wakeup(event_loop& loop, std::function<void()> on_ring);
  ~wakeup();
  wakeup(const wakeup&) = delete;
  wakeup& operator=(const wakeup&) = delete;

  bell make_bell() const { return bell{shared_}; }
  bool ring() { return make_bell().ring(); }

 private:
  std::shared_ptr<bell::state> shared_;
};

}  // namespace glimmer
