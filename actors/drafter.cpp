#include "actors/drafter.hpp"

#include <caf/all.hpp>
#include <exception>
#include <utility>

#include "actors/messages.hpp"

namespace glimmer {
namespace {

struct drafting_state {
  static inline const char* name = "drafter";
  std::unique_ptr<proposer> drafts;
};
using drafter_self = caf::stateful_actor<drafting_state>;

void give_up(drafter_self* self, const error& why) {
  self->quit(caf::make_error(caf::sec::runtime_error, why.text));
}

/// What was thrown is a reason like any other: it is logged with the death.
caf::error reason_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    return caf::make_error(caf::sec::runtime_error, e.what());
  } catch (...) {
    return caf::make_error(caf::sec::runtime_error, "unknown exception");
  }
}

caf::behavior live(drafter_self* self, const proposer_factory& make) {
  self->set_exception_handler([](std::exception_ptr& thrown) { return reason_of(thrown); });
  auto made = make();
  if (!made) {
    give_up(self, made.error());
    return {};
  }
  self->state.drafts = std::move(*made);
  return {
      [=](const message::propose& m) {
        auto done = self->state.drafts->run(*m.plan);
        if (!done) return give_up(self, done.error());
        self->send(caf::actor_cast<caf::actor>(self->current_sender()),
                   message::proposed{std::make_shared<draft_result>(std::move(*done))});
      },
  };
}

}  // namespace

caf::actor spawn_drafter(caf::actor_system& system, proposer_factory make) {
  return system.spawn<caf::detached>(live, std::move(make));
}

}  // namespace glimmer
