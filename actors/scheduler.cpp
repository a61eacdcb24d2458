#include "actors/scheduler.hpp"

#include <fmt/core.h>

#include <caf/all.hpp>
#include <utility>

#include "actors/drafter_link.hpp"
#include "actors/messages.hpp"
#include "actors/real_clock.hpp"
#include "engine/scheduler_metrics.hpp"
#include "engine/step_routing.hpp"
#include "scheduler/scheduler.hpp"

namespace glimmer {
namespace {

struct scheduling {
  static inline const char* name = "scheduler";
  std::optional<scheduler> core;
  message::peers_known peers;
  drafter_link drafting;
  metrics counters;
  scheduler_stats counted;  // what the counters already hold
  time_point step_sent{};
  bool told_idle = true;
};
using scheduler_self = caf::stateful_actor<scheduling>;

/// Counts what one part of a step took, and returns its end.
time_point count_phase(scheduler_self* self, const char* phase, time_point began) {
  auto& counters = self->state.counters;
  const auto now = monotonic_now();
  const std::chrono::duration<double> took = now - began;
  counters.observe(counters.series(metric::step_seconds, {{"phase", phase}}), took.count());
  return now;
}

void deliver(scheduler_self* self, committed step) {
  const auto& parsers = self->state.peers.parsers;
  auto routed = route_step(std::move(step), parsers.size());
  for (std::size_t i = 0; i < routed.size(); ++i) {
    if (routed[i]) self->send(parsers[i], message::tokens_ready{std::move(routed[i])});
  }
}

void publish(scheduler_self* self) {
  auto& s = self->state;
  const auto stats = s.core->stats();
  count_scheduler(s.counters, stats, std::exchange(s.counted, stats));
  s.told_idle = s.core->idle();
  count_mail(s.counters, self->mailbox().size(), metrics_source::scheduler);
  const auto told = std::make_shared<const metrics>(s.counters);
  self->send(s.peers.supervisor, message::state_changed{{.scheduler = stats}});
  self->send(s.peers.supervisor, message::metrics_published{metrics_source::scheduler, told});
}

void send_plan(scheduler_self* self, step_plan plan, time_point began) {
  auto& s = self->state;
  s.counters.observe(s.counters.series(metric::iteration_tokens), double(plan.tokens.size()));
  s.step_sent = count_phase(self, "plan", began);
  self->send(s.peers.executor, message::run_step{std::make_shared<step_plan>(std::move(plan))});
}

/// After anything that may have given the core something to do.
void go_on(scheduler_self* self) {
  auto& core = *self->state.core;
  const auto began = monotonic_now();
  auto plan = core.plan(began);
  if (auto ended = core.take_finished(); !ended.empty()) deliver(self, {{}, std::move(ended)});
  if (plan) send_plan(self, std::move(*plan), began);
  if (core.idle() != self->state.told_idle) publish(self);  // work came, or the last is done
}

void step_came_back(scheduler_self* self, const step_result& result) {
  auto& s = self->state;
  const auto came = count_phase(self, "execute", s.step_sent);
  auto step = s.core->commit(result, came);
  const auto booked = count_phase(self, "commit", came);
  s.drafting.ask(self, *s.core);
  deliver(self, std::move(step));
  count_phase(self, "deliver", booked);
  s.counters.set(s.counters.series(metric::last_step_timestamp), static_cast<double>(wall_now()));
}

void submit(scheduler_self* self, const message::submit_sequence& m) {
  const auto parser = caf::actor_cast<caf::actor>(self->current_sender());
  const auto request = m.prompts.front().request;
  if (auto taken = self->state.core->admit(m.prompts, monotonic_now()); !taken) {
    return self->send(parser, message::sequence_refused{request, taken.error()});
  }
  self->send(parser, message::sequence_admitted{request});
  go_on(self);
}

caf::behavior live(scheduler_self* self, const scheduler_config& config, const event_log& log) {
  auto& core = self->state.core.emplace(config);
  const caf::message_handler own{
      [=](message::peers_known& m) {
        self->state.peers = std::move(m);
        self->send(self, message::tick{});
      },
      [=](const message::submit_sequence& m) { submit(self, m); },
      [=, &core](const message::cancel_request& m) {
        core.cancel(m.request, m.reason);
        go_on(self);
      },
      [=, &core](const message::end_sequence& m) {
        core.end(m.sequence, m.output_index);
        go_on(self);
      },
      [=, &core](const message::window_returned& m) {
        for (const auto& [sequence, tokens] : m.taken) core.grant(sequence, tokens);
        go_on(self);
      },
      [=](const message::step_done& m) {
        step_came_back(self, *m.result);
        go_on(self);
      },
      [=, &core](const message::step_failed& m) {
        log.error("step failed", fmt::format("step={} {}", m.step.value, m.why.text));
        core.fail_step(m.step, monotonic_now());
        go_on(self);
      },
      [&core](message::reset_prefix_cache) { core.reset_prefix_cache(); },
      [&core](const message::rules_changed& m) {
        const auto& bounds = m.rules->desk.bounds;
        core.change_limits({bounds.queued_tokens, std::chrono::milliseconds{bounds.parked_ms}});
      },
      [=, &core](message::leave) {
        core.cancel_all(cancel_reason::shutdown);
        go_on(self);
      },
      [=](message::tick) {
        go_on(self);
        publish(self);
        self->delayed_send(self, std::chrono::milliseconds{100}, message::tick{});
      },
  };
  return own.or_else(self->state.drafting.handlers(self, core, [self] { go_on(self); }));
}

}  // namespace

caf::actor spawn_scheduler(caf::actor_system& system, const scheduler_config& config,
                           event_log log) {
  return system.spawn<caf::detached>(live, config, log);
}

}  // namespace glimmer
