// What a front desk wants, carried to sockets and actors.
#include <fmt/core.h>

#include <caf/actor_cast.hpp>
#include <utility>

#include "actors/frontend_shell.hpp"
#include "actors/messages.hpp"
#include "engine/step_routing.hpp"

namespace glimmer {

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
      const auto& to = setup_.tokenizers[tokenizer_of(
          order.request, order.bytes.size(), static_cast<std::uint32_t>(setup_.tokenizers.size()))];
      self_.send(to, message::prepare_request{order.request, order.where,
                                              std::make_shared<const std::string>(order.bytes),
                                              caf::actor_cast<caf::actor>(self_.address()),
                                              order.fairness_key});
      return;
    }
    case kind::cancel:
      self_.send(setup_.scheduler, message::cancel_request{order.request, order.reason});
      return;
    case kind::abort:
      return self_.send(setup_.supervisor, message::abort_requests{{order.label, order.key}});
    case kind::want_credits:
      return self_.send(setup_.supervisor, message::credits_wanted{order.credits});
    case kind::return_credits:
    case kind::answer_recall:
      return self_.send(setup_.supervisor, message::credits_returned{
                                               order.credits, order.what == kind::answer_recall});
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
  const auto level = is_work(order.where) ? log_level::info : log_level::debug;
  if (!setup_.log.writes(level)) return;
  const auto ms = std::chrono::duration<double, std::milli>(order.took).count();
  setup_.log.write(level, "answered",
                   fmt::format("request={} route={} status={} ms={:.1f}", order.label,
                               route_label(order.where), order.status, ms));
}

}  // namespace glimmer
