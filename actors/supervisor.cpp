#include "actors/supervisor.hpp"

#include <fmt/core.h>

#include <caf/all.hpp>
#include <utility>

#include "actors/credit_bank.hpp"
#include "actors/drafter_watch.hpp"
#include "actors/messages.hpp"
#include "actors/vital_signs.hpp"

namespace glimmer {
namespace {

struct watch {
  static inline const char* name = "supervisor";
  supervisor_setup setup;
  message::crew_known crew;
  engine_state state;
  credit_bank bank{0};
  vital_signs signs;
  drafter_watch drafting;
  std::size_t drained = 0;
  bool ended = false;
};
using supervisor_self = caf::stateful_actor<watch>;

/// To all frontends but the one that said it.
template <class Message>
void pass_on(supervisor_self* self, const Message& m) {
  const auto from = self->current_sender();
  for (const auto& to : self->state.crew.frontends) {
    if (caf::actor_cast<caf::strong_actor_ptr>(to) != from) self->send(to, m);
  }
}

void tell_frontends(supervisor_self* self) {
  pass_on(self, message::state_changed{self->state.state});
}

void enter(supervisor_self* self, engine_phase phase) {
  self->state.state.phase = phase;
  self->state.setup.log.info("engine", fmt::format("phase={}", to_string(phase)));
  tell_frontends(self);
}

void end(supervisor_self* self, engine_end how) {
  if (std::exchange(self->state.ended, true)) return;
  self->state.setup.on_end(how);
}

void start_drain(supervisor_self* self) {
  auto& s = self->state;
  if (s.state.phase == engine_phase::draining) return;
  enter(self, engine_phase::draining);
  if (s.crew.frontends.empty()) return end(self, engine_end::drained);
  for (const auto& to : s.crew.frontends) self->send(to, message::drain{});
  self->delayed_send(self, s.setup.drain_time, message::leave{});
}

/// The time to drain is over, or somebody asked twice.
void cut(supervisor_self* self) {
  if (self->state.ended) return;
  self->state.setup.log.warning("engine", "open requests are cut");
  self->send(self->state.crew.scheduler, message::leave{});
  end(self, engine_end::cut);
}

void on_death(supervisor_self* self, const caf::down_msg& died) {
  auto& s = self->state;
  if (s.ended || s.drafting.replaced(self, died, s.setup.log)) return;
  const bool device = died.source == s.crew.executor.address();
  const auto why = self->system().render(died.reason);
  s.setup.log.error("actor died", fmt::format("device={} why={}", device, why));
  enter(self, engine_phase::failed);
  end(self, device ? engine_end::device_lost : engine_end::actor_died);
}

void meet(supervisor_self* self, message::crew_known& crew) {
  auto& s = self->state;
  s.crew = std::move(crew);
  for (const auto& one : {s.crew.scheduler, s.crew.executor}) self->monitor(one);
  for (const auto* several : {&s.crew.tokenizers, &s.crew.parsers, &s.crew.frontends}) {
    for (const auto& one : *several) self->monitor(one);
  }
  tell_frontends(self);
}

void look_around(supervisor_self* self) {
  auto& s = self->state;
  auto told = s.signs.look(s.state, {s.bank.in_pool(), self->mailbox().size()}, s.setup.log);
  pass_on(self, message::metrics_published{metrics_source::supervisor, std::move(told)});
  self->delayed_send(self, std::chrono::seconds{1}, message::tick{});
}

void change_rules(supervisor_self* self, const message::rules_changed& m) {
  auto& s = self->state;
  s.setup.drain_time = m.rules->drain_time;
  s.state.progress_max = m.rules->progress_max;
  s.bank.set_total(self, m.rules->desk.bounds.requests_in_flight);
  self->send(s.crew.scheduler, m);
  pass_on(self, m);
  tell_frontends(self);
}

caf::behavior live(supervisor_self* self, const supervisor_setup& setup) {
  self->state.setup = setup;
  self->state.state.progress_max = setup.progress_max;
  self->state.bank.set_total(self, setup.admission_credits);
  self->delayed_send(self, std::chrono::seconds{1}, message::tick{});
  self->set_down_handler([=](const caf::down_msg& died) { on_death(self, died); });
  const caf::message_handler lead{
      [=](message::crew_known& m) { meet(self, m); },
      [=](message::executor_ready) {
        if (self->state.state.phase != engine_phase::loading) return;
        self->state.drafting.send_first(self, self->state.setup.send_drafter);
        enter(self, engine_phase::serving);
        self->state.setup.on_ready();
      },
      [=](const message::executor_failed& m) {
        self->state.setup.log.error("not loaded", m.why.text);
        enter(self, engine_phase::failed);
        end(self, engine_end::not_loaded);
      },
      [=](const message::state_changed& m) {
        self->state.state.scheduler = m.state.scheduler;
        tell_frontends(self);
      },
      [=](const message::metrics_published& m) { pass_on(self, m); },
      [=](message::drain) { start_drain(self); },
      [=](message::drained) {
        if (++self->state.drained < self->state.crew.frontends.size()) return;
        end(self, engine_end::drained);
      },
      [=](message::leave) { cut(self); },
      [=](const message::abort_requests& m) { pass_on(self, m); },
      [=](const message::rules_changed& m) { change_rules(self, m); },
      [=](message::tick) { look_around(self); },
  };
  return lead.or_else(self->state.bank.counter(self)).or_else(self->state.drafting.sender(self));
}

}  // namespace

caf::actor spawn_supervisor(caf::actor_system& system, supervisor_setup setup) {
  return system.spawn(live, std::move(setup));
}

}  // namespace glimmer
