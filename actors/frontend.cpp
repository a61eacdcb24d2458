#include "actors/frontend.hpp"

#include <fmt/core.h>

#include <caf/actor_cast.hpp>
#include <caf/message_handler.hpp>
#include <caf/send.hpp>
#include <future>
#include <map>
#include <utility>

#include "actors/frontend_shell.hpp"
#include "actors/loop_actor.hpp"
#include "actors/messages.hpp"

namespace glimmer {
namespace {

using started = std::pair<caf::actor, std::uint16_t>;

/// The thread of one frontend: from listening to leaving.
void live(caf::actor_system& system, frontend_setup setup, std::promise<result<started>> promise) {
  event_loop loop;
  auto handle = system.spawn<loop_actor, caf::hidden>(&loop);
  auto& self = *static_cast<loop_actor*>(caf::actor_cast<caf::abstract_actor*>(handle));
  const auto listen = setup.listen;
  frontend_shell shell{self, loop, std::move(setup)};
  auto listener = tcp_listener::open(loop, listen, [&](std::unique_ptr<tcp_connection> accepted) {
    shell.accept(std::move(accepted));
  });
  if (!listener) {
    self.close_mailbox();
    promise.set_value(fail(listener.error()));
    return;
  }
  shell.counts_refusals_of(**listener);
  self.become(caf::message_handler{
      [&](const message::request_refused& m) { shell.refuse(m.request, m.why); },
      [&](const message::write_bytes& m) { shell.answer(*m.pieces); },
      [&](const message::state_changed& m) { shell.state_changed(m.state); },
      [&](const message::metrics_published& m) { shell.metrics_changed(m.source, m.values); },
      [&](const message::credits_given& m) { shell.credits_given(m.credits); },
      [&](message::credits_recalled) { shell.credits_recalled(); },
      [&](const message::abort_requests& m) { shell.abort(m.wish); },
      [&](const message::rules_changed& m) { shell.change_rules(m.rules->desk); },
      [&](message::drain) { shell.drain(); },  // newcomers are told 503 until the end
      [&](message::leave) { loop.stop(); }});
  promise.set_value(started{handle, (*listener)->port()});
  loop.run();
  listener->reset();
  shell.close_all();
  self.close_mailbox();
}

}  // namespace

result<std::unique_ptr<frontend>> frontend::start(caf::actor_system& system, frontend_setup setup) {
  std::promise<result<started>> promise;
  auto outcome = promise.get_future();
  std::unique_ptr<frontend> made{new frontend};
  made->thread_ = std::thread{live, std::ref(system), std::move(setup), std::move(promise)};
  auto up = outcome.get();
  if (!up) return fail(up.error());
  std::tie(made->handle_, made->port_) = std::move(*up);
  return made;
}

frontend::~frontend() {
  if (handle_) caf::anon_send(handle_, message::leave{});
  handle_ = nullptr;
  if (thread_.joinable()) thread_.join();
}

}  // namespace glimmer
