#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <caf/message_handler.hpp>
#include <functional>

#include "scheduler/scheduler.hpp"

namespace glimmer {

/// The scheduler's end of its line to the drafter: carries draft plans there and proposals back,
/// and tells the core when the drafter comes and goes.
class drafter_link {
 public:
  /// Handles drafter_changed, proposed and the drafter's death, for as long as this and `core` live
  /// in `self`; `go_on` runs after each.
  caf::message_handler handlers(caf::event_based_actor* self, scheduler& core,
                                std::function<void()> go_on);
  /// After a commit: asks the drafter, if there is one and there is something to ask.
  void ask(caf::event_based_actor* self, scheduler& core) const;

 private:
  caf::actor drafter_;
};

}  // namespace glimmer
