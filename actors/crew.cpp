#include "actors/crew.hpp"

#include <caf/all.hpp>
#include <utility>

#include "actors/client.hpp"
#include "actors/messages.hpp"
#include "actors/parser.hpp"
#include "actors/scheduler.hpp"
#include "actors/tokenizer.hpp"

namespace glimmer {

void crew::spawn(caf::actor_system& system, crew_plan& plan) {
  supervisor_ = spawn_supervisor(system, plan.supervision);
  scheduler_ = spawn_scheduler(system, plan.scheduling, plan.supervision.log);
  for (std::uint32_t i = 0; i < plan.parsers; ++i) {
    parsers_.push_back(spawn_parser(system, plan.answers,
                                    {.scheduler = scheduler_,
                                     .supervisor = supervisor_,
                                     .source = metrics_source::parser + i}));
  }
  for (std::uint32_t i = 0; i < plan.tokenizers; ++i) {
    tokenizers_.push_back(spawn_tokenizer(system, plan.intake, parsers_));
  }
}

/// Request ids are dealt out like cards, so that no two actors ever give the same one: the client
/// has the first hand, the frontends the others. Admission credits are shared evenly.
result<void> crew::listen(caf::actor_system& system, const crew_plan& plan) {
  const std::uint64_t hands = plan.frontends + 1;
  client_ = spawn_client(system, {.tokenizers = tokenizers_,
                                  .scheduler = scheduler_,
                                  .supervisor = supervisor_,
                                  .first_request = hands,
                                  .request_stride = hands,
                                  .requests_max = plan.desk.bounds.requests_in_flight});
  auto listen = plan.listen;
  listen.share_port = plan.frontends > 1;
  if (plan.frontends > 0) {
    const auto port = check_port_free(listen.address);
    if (!port) return fail(port.error());
    listen.address.port = *port;
  }
  for (std::uint32_t i = 0; i < plan.frontends; ++i) {
    frontend_setup setup{.desk = plan.desk,
                         .listen = listen,
                         .tokenizers = tokenizers_,
                         .scheduler = scheduler_,
                         .supervisor = supervisor_,
                         .log = plan.supervision.log,
                         .index = metrics_source::frontend + i};
    setup.desk.first_request = hands + 1 + i;
    setup.desk.request_stride = hands;
    setup.desk.label_seed += i;
    setup.desk.admission_credits =
        (plan.desk.bounds.requests_in_flight + plan.frontends - 1) / plan.frontends;
    auto started = frontend::start(system, std::move(setup));
    if (!started) return fail(started.error());
    frontends_.push_back(std::move(*started));
  }
  return {};
}

void crew::introduce() const {
  std::vector<caf::actor> listeners{client_};
  for (const auto& one : frontends_) listeners.push_back(one->handle());
  caf::anon_send(scheduler_, message::peers_known{executor_, supervisor_, parsers_});
  caf::anon_send(supervisor_, message::crew_known{scheduler_, executor_, tokenizers_, parsers_,
                                                  std::move(listeners)});
}

result<std::unique_ptr<crew>> crew::muster(caf::actor_system& system, crew_plan plan) {
  std::unique_ptr<crew> made{new crew};
  made->spawn(system, plan);
  if (auto open = made->listen(system, plan); !open) return fail(open.error());
  made->executor_ = spawn_executor(system, std::move(plan.load_stepper), made->supervisor_);
  made->introduce();
  return made;
}

void crew::drain() {
  caf::anon_send(supervisor_, message::drain{});
}
void crew::cut() {
  caf::anon_send(supervisor_, message::leave{});
}

crew::~crew() {
  // The supervisor first: nobody's leaving is a death any more.
  caf::anon_send_exit(supervisor_, caf::exit_reason::user_shutdown);
  frontends_.clear();
  caf::anon_send_exit(client_, caf::exit_reason::user_shutdown);
  for (const auto* several : {&tokenizers_, &parsers_}) {
    for (const auto& one : *several) caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
  }
  caf::anon_send_exit(scheduler_, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(executor_, caf::exit_reason::user_shutdown);
}

}  // namespace glimmer
