#include "actors/frontend_shell.hpp"

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
  self_.handle_mail();
}

void frontend_shell::socket::on_bytes(std::string_view bytes) {
  auto& shell = home;  // this socket may go meanwhile
  shell.desk_.received(id, bytes, shell.loop_.now());
  shell.carry_out();
  shell.self_.handle_mail();  // in a burst, an answer does not wait for all who ask
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

void frontend_shell::credits_given(std::size_t credits) {
  desk_.credits_given(credits, loop_.now());
  carry_out();
}

void frontend_shell::credits_recalled() {
  desk_.credits_recalled();
  carry_out();
}

void frontend_shell::abort(const abort_wish& wish) {
  desk_.abort(wish);
  carry_out();
}

void frontend_shell::drain() {
  draining_ = true;
  desk_.drain(loop_.now());
  carry_out();
}

void frontend_shell::on_tick() {
  if (listener_) desk_.connections_refused(listener_->refused());
  desk_.tick(loop_.now());
  carry_out();
  auto mail = std::make_shared<metrics>();
  count_mail(*mail, self_.waiting(), setup_.index);
  auto counters = std::make_shared<metrics>(desk_.counters());
  counters->merge(*mail);
  desk_.metrics_changed(setup_.index, std::move(mail));  // nobody else tells it to this desk
  self_.send(setup_.supervisor, message::metrics_published{setup_.index, std::move(counters)});
}

}  // namespace glimmer
