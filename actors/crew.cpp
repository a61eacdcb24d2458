#include "actors/crew.hpp"

#include <caf/all.hpp>
#include <utility>

#include "actors/client.hpp"
#include "actors/messages.hpp"
#include "actors/parser.hpp"
#include "actors/scheduler.hpp"
#include "actors/tokenizer.hpp"

namespace glimmer {

void crew::spawn(crew_plan& plan) {
  auto& system = *system_;
  scheduler_ = spawn_scheduler(system, plan.scheduling, plan.supervision.log);
  if (plan.make_proposer) {
    plan.supervision.send_drafter = [&system, scheduler = scheduler_, make = plan.make_proposer,
                                     berth = drafter_] {
      *berth = spawn_drafter(system, make);
      caf::anon_send(scheduler, message::drafter_changed{*berth});
      return *berth;
    };
  }
  supervisor_ = spawn_supervisor(system, plan.supervision);
  for (std::uint32_t i = 0; i < plan.parsers; ++i) {
    parsers_.push_back(spawn_parser(system, plan.answers,
                                    {.scheduler = scheduler_,
                                     .supervisor = supervisor_,
                                     .source = metrics_source::parser + i}));
  }
  for (std::uint32_t i = 0; i < plan.tokenizers; ++i) {
    tokenizers_.push_back(spawn_tokenizer(
        system, plan.intake,
        {.parsers = parsers_, .supervisor = supervisor_, .source = metrics_source::tokenizer + i}));
  }
}

/// Request ids are dealt out like cards, so that no two actors ever give the same one: the client
/// has the first hand, the frontends the others. Admission credits are leased by the supervisor.
result<void> crew::listen(const crew_plan& plan) {
  auto& system = *system_;
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
    setup.desk.admission_credits = plan.desk.bounds.requests_in_flight;
    setup.desk.credits_leased = true;
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
  caf::anon_send(executor_, message::load_model{});
}

result<std::unique_ptr<crew>> crew::muster(caf::actor_system& system, crew_plan plan) {
  std::unique_ptr<crew> made{new crew{system}};
  made->spawn(plan);
  if (auto open = made->listen(plan); !open) return fail(open.error());
  made->executor_ = spawn_executor(system, std::move(plan.load_stepper), made->supervisor_);
  made->introduce();
  return made;
}

void crew::drain() {
  caf::anon_send(supervisor_, message::drain{});
}
void crew::change_rules(server_rules rules) {
  caf::anon_send(supervisor_,
                 message::rules_changed{std::make_shared<const server_rules>(std::move(rules))});
}
void crew::cut() {
  caf::anon_send(supervisor_, message::leave{});
}

crew::~crew() {
  // The supervisor first: nobody's leaving is a death any more.
  caf::anon_send_exit(supervisor_, caf::exit_reason::user_shutdown);
  frontends_.clear();
  if (client_) caf::anon_send(client_, message::leave{});  // behind what was submitted to it
  std::vector<caf::actor> rest{supervisor_, scheduler_};
  for (const auto* several : {&tokenizers_, &parsers_}) {
    rest.insert(rest.end(), several->begin(), several->end());
  }
  if (executor_) rest.push_back(executor_);
  for (const auto& one : rest) caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
  if (client_) rest.push_back(client_);
  const caf::scoped_actor waiting{*system_};
  waiting->wait_for(rest);
  if (!*drafter_) return;  // by now nobody sends another
  caf::anon_send_exit(*drafter_, caf::exit_reason::user_shutdown);
  waiting->wait_for(*drafter_);
}

}  // namespace glimmer
