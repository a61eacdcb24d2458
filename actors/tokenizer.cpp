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

constexpr auto publish_period = std::chrono::seconds{1};

struct reading {
  static inline const char* name = "tokenizer";
  metrics counters;
};
using tokenizer_self = caf::stateful_actor<reading>;

message::write_bytes whole_answer(request_id request, ready_answer ready) {
  std::vector<answer_piece> pieces;
  pieces.push_back({.request = request, .bytes = std::move(ready.body), .last = true});
  return {std::make_shared<const std::vector<answer_piece>>(std::move(pieces))};
}

void count_time(tokenizer_self* self, time_point began) {
  auto& counters = self->state.counters;
  const std::chrono::duration<double> took = monotonic_now() - began;
  counters.observe(counters.series(metric::tokenize_seconds), took.count());
}

void publish(tokenizer_self* self, const tokenizer_peers& peers) {
  auto& counters = self->state.counters;
  count_mail(counters, self->mailbox().size(), peers.source);
  self->send(peers.supervisor,
             message::metrics_published{peers.source, std::make_shared<metrics>(counters)});
  self->delayed_send(self, publish_period, message::tick{});
}

caf::behavior live(tokenizer_self* self, const std::shared_ptr<const request_intake>& intake,
                   const tokenizer_peers& peers) {
  self->delayed_send(self, publish_period, message::tick{});
  return {
      [=](const message::prepare_request& m) {
        const auto began = monotonic_now();
        auto taken = intake->take({.request = m.request, .where = m.where, .body = *m.body},
                                  {.arrived = began, .wall = wall_now()});
        count_time(self, began);
        if (!taken) {
          return self->send(m.frontend, message::request_refused{m.request, taken.error()});
        }
        if (auto* ready = std::get_if<ready_answer>(&*taken)) {
          return self->send(m.frontend, whole_answer(m.request, std::move(*ready)));
        }
        auto& accepted = std::get<accepted_request>(*taken);
        if (!m.fairness_key.empty()) accepted.fairness_key = m.fairness_key;
        self->send(peers.parsers[parser_of(m.request, peers.parsers.size())],
                   message::open_answer{
                       std::make_shared<const accepted_request>(std::move(accepted)), m.frontend});
      },
      [=](message::tick) { publish(self, peers); },
  };
}

}  // namespace

caf::actor spawn_tokenizer(caf::actor_system& system, std::shared_ptr<const request_intake> intake,
                           tokenizer_peers peers) {
  return system.spawn<caf::detached>(live, std::move(intake), std::move(peers));
}

}  // namespace glimmer
