#include "actors/executor.hpp"

#include <caf/all.hpp>
#include <utility>

#include "actors/messages.hpp"

namespace glimmer {
namespace {

struct device_state {
  static inline const char* name = "executor";
  std::unique_ptr<stepper> steps;
};

caf::behavior live(caf::stateful_actor<device_state>* self, const stepper_factory& load,
                   const caf::actor& supervisor) {
  return {
      [=](message::load_model) {
        auto made = load();
        if (!made) return self->send(supervisor, message::executor_failed{made.error()});
        self->state.steps = std::move(*made);
        self->send(supervisor, message::executor_ready{});
      },
      [=](const message::run_step& m) {
        const auto scheduler = caf::actor_cast<caf::actor>(self->current_sender());
        auto done = self->state.steps->run(*m.plan);
        if (!done) return self->send(scheduler, message::step_failed{m.plan->id, done.error()});
        self->send(scheduler, message::step_done{std::make_shared<step_result>(std::move(*done))});
      },
  };
}

}  // namespace

caf::actor spawn_executor(caf::actor_system& system, stepper_factory load, caf::actor supervisor) {
  return system.spawn<caf::detached>(live, std::move(load), std::move(supervisor));
}

}  // namespace glimmer
