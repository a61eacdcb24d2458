#include "actors/frontend_shell.hpp"

#include <fmt/core.h>

#include <caf/actor_cast.hpp>

#include <utility>

#include "actors/messages.hpp"

namespace glimmer {

frontend_shell::frontend_shell(loop_actor& self, event_loop& loop, frontend_setup setup)
    : self_{self}, loop_{loop}, setup_{std::move(setup)}, desk_{setup_.desk}, tick_{loop, [this] {
                                                                                      on_tick();
                                                                                    }} {
  tick_.every(std::chrono::seconds{1});
}

// ---- from sockets ------------------------------------------------------------------------------

void frontend_shell::accept(std::unique_ptr<tcp_connection> accepted) {
  const connection_id id{next_connection_++};
  auto& at =
      *sockets_.emplace(id, std::make_unique<socket>(*this, id, std::move(accepted))).first->second;
  desk_.opened(id, loop_.now());
  at.tcp->start(at);
  carry_out();
}

void frontend_shell::socket::on_bytes(std::string_view bytes) {
  home.desk_.received(id, bytes, home.loop_.now());
  home.carry_out();
}

void frontend_shell::socket::on_end() {
  home.desk_.input_ended(id, home.loop_.now());
  home.carry_out();
}

void frontend_shell::socket::on_lost(std::string_view) {
  home.desk_.lost(id, home.loop_.now());
  home.carry_out();
}

void frontend_shell::socket::on_written() {
  home.tell_progress(*this);
  home.carry_out();
}

void frontend_shell::socket::on_shut_down() {
  home.desk_.shut_down_done(id, home.loop_.now());
  home.carry_out();
}

// ---- from actors -------------------------------------------------------------------------------

void frontend_shell::refuse(request_id request, const error& why) {
  desk_.refuse(request, why, loop_.now());
  carry_out();
}

void frontend_shell::answer(std::span<const answer_piece> pieces) {
  desk_.answer(pieces, loop_.now());
  carry_out();
}

void frontend_shell::metrics_changed(std::uint32_t source, std::shared_ptr<const metrics> values) {
  desk_.metrics_changed(source, std::move(values));
}

void frontend_shell::drain() {
  draining_ = true;
  desk_.drain(loop_.now());
  carry_out();
}

void frontend_shell::on_tick() {
  desk_.tick(loop_.now());
  carry_out();
  self_.send(
      setup_.supervisor,
      message::metrics_published{setup_.index, std::make_shared<const metrics>(desk_.counters())});
}

// ---- what the desk wants -----------------------------------------------------------------------

void frontend_shell::carry_out() {
  for (auto orders = desk_.take_orders(); !orders.empty(); orders = desk_.take_orders()) {
    for (const auto& order : orders) carry_out(order);
  }
  if (auto windows = desk_.take_windows(); !windows.empty()) {
    self_.send(setup_.scheduler, message::window_returned{std::move(windows)});
  }
  if (draining_ && !told_drained_ && desk_.open_requests() == 0) {
    told_drained_ = true;
    self_.send(setup_.supervisor, message::drained{});
  }
}

void frontend_shell::carry_out(const desk_order& order) {
  using kind = desk_order::kind;
  switch (order.what) {
    case kind::prepare: {
      const auto& to = setup_.tokenizers[order.request.value % setup_.tokenizers.size()];
      self_.send(to, message::prepare_request{order.request,
                                              std::make_shared<const std::string>(order.bytes),
                                              caf::actor_cast<caf::actor>(self_.address())});
      return;
    }
    case kind::cancel:
      self_.send(setup_.scheduler, message::cancel_request{order.request, cancel_reason::gone});
      return;
    case kind::reset_prefix_cache:
      return self_.send(setup_.scheduler, message::reset_prefix_cache{});
    case kind::finished: return log_finished(order);
    default: break;
  }
  const auto at = sockets_.find(order.connection);
  if (at != sockets_.end()) carry_out_on(*at->second, order);
}

void frontend_shell::carry_out_on(socket& at, const desk_order& order) {
  using kind = desk_order::kind;
  switch (order.what) {
    case kind::write:
      at.tcp->write(order.bytes);
      tell_progress(at);
      break;
    case kind::pause: at.tcp->pause_reading(); break;
    case kind::resume: at.tcp->resume_reading(); break;
    case kind::shut_down: at.tcp->shut_down(); break;
    default: sockets_.erase(at.id); break;
  }
}

void frontend_shell::tell_progress(socket& at) {
  desk_.written(at.id, {.sent = at.tcp->sent(), .all = at.tcp->unsent() == 0}, loop_.now());
}

void frontend_shell::log_finished(const desk_order& order) const {
  const auto level = order.where == route::chat_completions ? log_level::info : log_level::debug;
  if (!setup_.log.writes(level)) return;
  const auto ms = std::chrono::duration<double, std::milli>(order.took).count();
  setup_.log.write(level, "answered",
                   fmt::format("request={} route={} status={} ms={:.1f}", order.label,
                               route_label(order.where), order.status, ms));
}

}  // namespace glimmer
