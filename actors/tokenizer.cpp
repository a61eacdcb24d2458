#include "actors/tokenizer.hpp"

#include <caf/all.hpp>
#include <utility>

#include "actors/messages.hpp"
#include "actors/real_clock.hpp"
#include "engine/step_routing.hpp"

namespace glimmer {
namespace {

struct reading {
  static inline const char* name = "tokenizer";
};

caf::behavior live(caf::stateful_actor<reading>* self,
                   const std::shared_ptr<const request_intake>& intake,
                   const std::vector<caf::actor>& parsers) {
  return {
      [=](const message::prepare_request& m) {
        auto accepted =
            intake->accept(m.request, *m.body, {.arrived = monotonic_now(), .wall = wall_now()});
        if (!accepted) {
          return self->send(m.frontend, message::request_refused{m.request, accepted.error()});
        }
        if (!m.fairness_key.empty()) accepted->fairness_key = m.fairness_key;
        self->send(parsers[parser_of(m.request, parsers.size())],
                   message::open_answer{
                       std::make_shared<const accepted_request>(std::move(*accepted)), m.frontend});
      },
  };
}

}  // namespace

caf::actor spawn_tokenizer(caf::actor_system& system, std::shared_ptr<const request_intake> intake,
                           std::vector<caf::actor> parsers) {
  return system.spawn<caf::detached>(live, std::move(intake), std::move(parsers));
}

}  // namespace glimmer
