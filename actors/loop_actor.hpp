#pragma once

#include <caf/behavior.hpp>
#include <caf/extend.hpp>
#include <caf/mixin/behavior_changer.hpp>
#include <caf/mixin/requester.hpp>
#include <caf/mixin/sender.hpp>
#include <caf/mixin/subscriber.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/scoped_execution_unit.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "net/loop.hpp"
#include "net/wakeup.hpp"

namespace glimmer {
class loop_actor;
}

namespace caf {
template <>
class behavior_type_of<glimmer::loop_actor> {
 public:
  using type = behavior;
};
}  // namespace caf

namespace glimmer {

/// An actor whose thread is an event loop: its messages are handled between the loop's callbacks,
/// so it may touch the loop's sockets without a lock. Mail may be sent from any thread; once the
/// loop's thread has called `close_mailbox`, requests bounce and other mail is dropped.
class loop_actor
    : public caf::extend<caf::scheduled_actor,
                         loop_actor>::with<caf::mixin::sender, caf::mixin::requester,
                                           caf::mixin::subscriber, caf::mixin::behavior_changer> {
 public:
  using signatures = caf::none_t;
  using behavior_type = caf::behavior;

  loop_actor(caf::actor_config& config, event_loop* loop);
  ~loop_actor() override;

  using scheduled_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr mail, caf::execution_unit* unit) override;
  void launch(caf::execution_unit*, bool /*lazy*/, bool hide) override {
    if (!hide) register_at_system();
  }

  /// Messages that have come and are not handled yet. Any thread.
  std::size_t waiting();

  /// Handles what has come so far, from the loop's thread. The loop does so after all callbacks of
  /// a round; a callback that is one of thousands in its round may do so earlier.
  void handle_mail();

  /// Ends the actor: from the loop's thread, before the loop goes.
  void close_mailbox();

 private:
  caf::scoped_execution_unit unit_;
  std::mutex mutex_;
  std::vector<caf::mailbox_element_ptr> mail_;  // guarded by mutex_
  bool closed_ = false;                         // guarded by mutex_
  std::unique_ptr<wakeup> wakeup_;              // loop thread
  bell bell_;                                   // any thread
};

}  // namespace glimmer
