#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/credit.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/limits.hpp"
#include "engine/answer_piece.hpp"
#include "engine/engine_state.hpp"
#include "protocol/http_connection.hpp"
#include "protocol/metrics.hpp"
#include "protocol/router.hpp"

namespace glimmer {

/// One accepted socket of a frontend, counted from 1.
using connection_id = strong_id<struct connection_tag>;

/// What the desk wants done outside: on a socket, or by the engine.
struct desk_order {
  enum class kind : std::uint8_t {
    write,               ///< connection, bytes
    pause,               ///< connection: stop reading
    resume,              ///< connection: read again
    shut_down,           ///< connection: end our direction behind all bytes
    close,               ///< connection: forget it at once
    prepare,             ///< request, bytes (the body): start the work
    cancel,              ///< request: its client has gone
    reset_prefix_cache,  ///< of the scheduler
    finished,            ///< request: answered; route, status and took are for the log
  };
  kind what = kind::close;
  connection_id connection;
  request_id request;
  std::string bytes;
  route where = route::unknown;
  int status = 0;
  duration took{};
  std::string label;  ///< the client's x-request-id, or ours
};

/// What a frontend knows from the start.
struct desk_config {
  limits bounds;
  std::size_t admission_credits = 1024;  ///< this frontend's share of requests_in_flight
  std::vector<std::string> api_keys;     ///< empty: no key is asked for
  std::string models_body;               ///< of GET /v1/models
  std::string version_body;
  metric_labels common_labels;
  std::uint64_t first_request = 1;   ///< request ids count up from here ...
  std::uint64_t request_stride = 1;  ///< ... by this, so that frontends never give one twice
  std::uint64_t label_seed = 0;      ///< of the x-request-ids we make
  std::uint64_t context_tokens = 0;
};

/// The frontend's mind: which request may enter (gate 1), what goes to the engine, what bytes go
/// to which socket, who is told that a client has gone. Sockets, actors and clocks are outside.
/// Every `prepare` is followed by exactly one end: `answer` with `last`, or `refuse`. Not
/// thread-safe.
class front_desk {
 public:
  explicit front_desk(desk_config config);

  // ---- what happened on sockets ----
  void opened(connection_id connection, time_point now);
  void received(connection_id connection, std::string_view bytes, time_point now);
  void input_ended(connection_id connection, time_point now);
  void lost(connection_id connection, time_point now);
  /// `sent` bytes have left the process since the connection was opened.
  struct write_progress {
    std::uint64_t sent = 0;
    bool all = false;  ///< nothing is kept back
  };
  void written(connection_id connection, write_progress progress, time_point now);
  /// Our direction is ended, everything is out.
  void shut_down_done(connection_id connection, time_point now);
  void tick(time_point now);

  // ---- what the engine said ----
  void refuse(request_id request, const error& why, time_point now);
  void answer(std::span<const answer_piece> pieces, time_point now);
  void state_changed(const engine_state& state) { state_ = state; }
  void metrics_changed(std::uint32_t source, std::shared_ptr<const metrics> values);
  /// Refuses new work from now on; idle connections are closed.
  void drain(time_point now);

  // ---- what is to be done ----
  std::vector<desk_order> take_orders();
  std::vector<sequence_tokens_taken> take_windows();

  /// Requests whose end has not come yet.
  std::size_t open_requests() const { return requests_.size(); }
  std::size_t connections() const { return connections_.size(); }
  std::size_t credits_left() const { return admission_.left(); }
  const metrics& counters() const { return counters_; }

 private:
  struct written_mark {
    std::uint64_t behind = 0;  // total bytes of the connection
    sequence_tokens_taken taken;
  };
  struct connection {
    http_connection http;
    std::optional<request_id> request;  // in work
    bool holds_credit = false;          // passed gate 1, its body is still coming
    route where = route::unknown;
    std::string method;  // for the counters; "other" if nobody knows it
    std::string label;
    time_point began{};
    time_point last_bytes{};
    std::uint64_t queued = 0;         // bytes given to the socket since it was opened
    std::vector<written_mark> marks;  // oldest first
    bool reading = true;
  };
  struct open_request {
    connection_id at;
    exchange_id exchange;
    bool gone = false;  // the client left; the engine's last word is still to come
  };

  void obey(connection_id id, connection& at, time_point now);
  void at_gate(connection_id id, connection& at, exchange_id exchange, time_point now);
  std::optional<error> closed_gate(const connection& at, const routing& to) const;
  std::optional<error> take_credit(connection& at);
  void release_credit(connection& at);
  void serve_local(connection& at, exchange_id exchange, time_point now);
  http_response local_answer(route where, time_point now) const;
  void start_work(connection_id id, connection& at, exchange_id exchange);
  void client_gone(connection& at);
  void respond(connection& at, exchange_id exchange, http_response response, time_point now);
  void deliver(const answer_piece& piece, connection_id id, connection& at, time_point now);
  void end_request(request_id request);
  void note_finished(const connection& at, int status, time_point now);
  bool key_is_known(const connection& at) const;
  void flush(connection_id id, connection& at);
  void keep_alive(connection& at, time_point now);
  std::string make_label(const connection& at);

  desk_config config_;
  credit admission_;
  engine_state state_;
  bool draining_ = false;
  std::uint64_t next_request_;
  std::uint64_t labels_made_ = 0;
  std::map<connection_id, connection> connections_;
  std::unordered_map<request_id, open_request> requests_;
  std::map<std::uint32_t, std::shared_ptr<const metrics>> others_;
  metrics counters_;
  std::vector<desk_order> orders_;
  std::vector<sequence_tokens_taken> windows_;
};

}  // namespace glimmer
