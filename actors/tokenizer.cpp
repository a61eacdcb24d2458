#include "actors/tokenizer.hpp"

#include <caf/all.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "actors/messages.hpp"
#include "actors/real_clock.hpp"
#include "engine/step_routing.hpp"

namespace glimmer {
namespace {

struct reading {
  static inline const char* name = "tokenizer";
};

message::write_bytes whole_answer(request_id request, ready_answer ready) {
  std::vector<answer_piece> pieces;
  pieces.push_back({.request = request, .bytes = std::move(ready.body), .last = true});
  return {std::make_shared<const std::vector<answer_piece>>(std::move(pieces))};
}

caf::behavior live(caf::stateful_actor<reading>* self,
                   const std::shared_ptr<const request_intake>& intake,
                   const std::vector<caf::actor>& parsers) {
  return {
      [=](const message::prepare_request& m) {
        auto taken = intake->take({.request = m.request, .where = m.where, .body = *m.body},
                                  {.arrived = monotonic_now(), .wall = wall_now()});
        if (!taken) {
          return self->send(m.frontend, message::request_refused{m.request, taken.error()});
        }
        if (auto* ready = std::get_if<ready_answer>(&*taken)) {
          return self->send(m.frontend, whole_answer(m.request, std::move(*ready)));
        }
        auto& accepted = std::get<accepted_request>(*taken);
        if (!m.fairness_key.empty()) accepted.fairness_key = m.fairness_key;
        self->send(parsers[parser_of(m.request, parsers.size())],
                   message::open_answer{
                       std::make_shared<const accepted_request>(std::move(accepted)), m.frontend});
      },
  };
}

}  // namespace

caf::actor spawn_tokenizer(caf::actor_system& system, std::shared_ptr<const request_intake> intake,
                           std::vector<caf::actor> parsers) {
  return system.spawn<caf::detached>(live, std::move(intake), std::move(parsers));
}

}  // namespace glimmer
