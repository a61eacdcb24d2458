#pragma once

#include <map>
#include <memory>
#include <span>
#include <string_view>

#include "actors/frontend.hpp"
#include "actors/loop_actor.hpp"
#include "engine/front_desk.hpp"
#include "net/tcp_connection.hpp"
#include "net/timer.hpp"

namespace glimmer {

/// Carries between one front desk, its sockets and the other actors. Loop's thread only.
class frontend_shell {
 public:
  frontend_shell(loop_actor& self, event_loop& loop, frontend_setup setup);

  void accept(std::unique_ptr<tcp_connection> accepted);
  /// `listener` must outlive the loop's run.
  void counts_refusals_of(const tcp_listener& listener) { listener_ = &listener; }
  void refuse(request_id request, const error& why);
  void answer(std::span<const answer_piece> pieces);
  void state_changed(const engine_state& state) { desk_.state_changed(state); }
  void metrics_changed(std::uint32_t source, std::shared_ptr<const metrics> values);
  void credits_given(std::size_t credits);
  void credits_recalled();
  void abort(const abort_wish& wish);
  void change_rules(const desk_rules& rules) { desk_.change_rules(rules); }
  void drain();
  /// Drops every socket.
  void close_all() { sockets_.clear(); }

 private:
  /// Tells the desk what happens on one socket.
  struct socket final : tcp_events {
    frontend_shell& home;
    connection_id id;
    std::unique_ptr<tcp_connection> tcp;

    socket(frontend_shell& h, connection_id i, std::unique_ptr<tcp_connection> t)
        : home{h}, id{i}, tcp{std::move(t)} {}
    void on_bytes(std::string_view bytes) override;
    void on_end() override;
    void on_lost(std::string_view why) override;
    void on_written() override;
    void on_shut_down() override;
  };

  void carry_out();
  void carry_out(const desk_order& order);
  void carry_out_on(socket& at, const desk_order& order);
  void tell_progress(socket& at);
  void log_finished(const desk_order& order) const;
  void on_tick();

  loop_actor& self_;
  event_loop& loop_;
  frontend_setup setup_;
  front_desk desk_;
  const tcp_listener* listener_ = nullptr;
  std::uint64_t next_connection_ = 1;
  std::map<connection_id, std::unique_ptr<socket>> sockets_;
  timer tick_;
  bool draining_ = false;
  bool told_drained_ = false;
};

}  // namespace glimmer
