#include "actors/drafter_link.hpp"

#include <caf/all.hpp>
#include <utility>

#include "actors/messages.hpp"
#include "actors/real_clock.hpp"

namespace glimmer {

caf::message_handler drafter_link::handlers(caf::event_based_actor* self, scheduler& core,
                                            std::function<void()> go_on) {
  // What is sent to a dead actor vanishes, so its death must be heard here and not by way of
  // others.
  self->set_down_handler([this, &core, go_on](const caf::down_msg& died) {
    if (!drafter_ || died.source != drafter_.address()) return;
    drafter_ = nullptr;
    core.drafter_lost();
    go_on();
  });
  return {
      [this, self, &core](message::drafter_changed& m) {
        if (drafter_) core.drafter_lost();
        drafter_ = std::move(m.drafter);
        self->monitor(drafter_);
        core.drafter_ready();
      },
      [&core, go_on](const message::proposed& m) {
        core.take_drafts(*m.result, monotonic_now());
        go_on();
      },
  };
}

void drafter_link::ask(caf::event_based_actor* self, scheduler& core) const {
  auto plan = core.plan_drafts(monotonic_now());
  if (!plan) return;
  self->send(drafter_, message::propose{std::make_shared<draft_plan>(std::move(*plan))});
}

}  // namespace glimmer
