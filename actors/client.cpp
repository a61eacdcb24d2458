#include "actors/client.hpp"

#include <caf/all.hpp>
#include <utility>

#include "actors/messages.hpp"
#include "engine/local_desk.hpp"
#include "engine/step_routing.hpp"

namespace glimmer {
namespace {

struct asking {
  static inline const char* name = "client";
  local_desk desk;
  client_setup peers;
  bool draining = false;
  bool told_drained = false;
};
using client_self = caf::stateful_actor<asking>;

void tell_drained(client_self* self) {
  auto& s = self->state;
  if (!s.draining || s.told_drained || s.desk.open_requests() > 0) return;
  s.told_drained = true;
  self->send(s.peers.supervisor, message::drained{});
}

void after(client_self* self) {
  auto& s = self->state;
  for (const auto request : s.desk.take_cancels()) {
    self->send(s.peers.scheduler, message::cancel_request{request, cancel_reason::gone});
  }
  if (auto windows = s.desk.take_windows(); !windows.empty()) {
    self->send(s.peers.scheduler, message::window_returned{std::move(windows)});
  }
  tell_drained(self);
}

caf::behavior live(client_self* self, const client_setup& setup) {
  auto& s = self->state;
  s.peers = setup;
  s.desk = local_desk{{.first_request = setup.first_request,
                       .request_stride = setup.request_stride,
                       .requests_max = setup.requests_max}};
  return {
      [=, &s](message::client_request& m) {
        const auto request = s.desk.open(m.ticket, std::move(m.sink));
        if (!request) return;
        const auto count = static_cast<std::uint32_t>(s.peers.tokenizers.size());
        const auto& to = s.peers.tokenizers[tokenizer_of(*request, m.body->size(), count)];
        self->send(to,
                   message::prepare_request{*request, route::chat_completions, std::move(m.body),
                                            caf::actor_cast<caf::actor>(self)});
      },
      [=, &s](const message::client_cancel& m) {
        s.desk.cancel(m.ticket);
        after(self);
      },
      [=, &s](const message::request_refused& m) {
        s.desk.refuse(m.request, m.why);
        after(self);
      },
      [=, &s](const message::write_bytes& m) {
        s.desk.answer(*m.pieces);
        after(self);
      },
      [=, &s](const message::state_changed& m) { s.desk.state_changed(m.state); },
      [](const message::metrics_published&) {},
      [](const message::abort_requests&) {},
      [](const message::rules_changed&) {},
      [=, &s](message::drain) {
        s.draining = true;
        s.desk.drain();
        tell_drained(self);
      },
      [=, &s](message::leave) {
        s.desk.close();
        self->quit();
      },
  };
}

}  // namespace

caf::actor spawn_client(caf::actor_system& system, client_setup setup) {
  return system.spawn(live, std::move(setup));
}

}  // namespace glimmer
