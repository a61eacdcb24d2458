#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/limits.hpp"
#include "engine/answer_piece.hpp"
#include "engine/credit_pool.hpp"
#include "engine/engine_state.hpp"
#include "protocol/http_connection.hpp"
#include "protocol/metrics.hpp"
#include "protocol/router.hpp"

namespace glimmer {

/// One accepted socket of a frontend, counted from 1.
using connection_id = strong_id<struct connection_tag>;

/// Requests to be ended: all with this x-request-id that came with the same API key.
struct abort_wish {
  std::string label;
  std::uint32_t key = 0;  ///< number of the API key, from 1; 0: none is asked for
};

/// What may change while the server runs.
struct desk_rules {
  limits bounds;                      ///< of connections opened from now on
  std::vector<std::string> api_keys;  ///< empty: no key is asked for
};

/// What the desk wants done outside: on a socket, or by the engine.
struct desk_order {
  enum class kind : std::uint8_t {
    write,               ///< connection, bytes
    pause,               ///< connection: stop reading
    resume,              ///< connection: read again
    shut_down,           ///< connection: end our direction behind all bytes
    close,               ///< connection: forget it at once
    prepare,             ///< request, where, bytes (the body), fairness_key: start the work
    cancel,              ///< request, reason
    abort,               ///< label, key: other frontends may have such requests too
    want_credits,        ///< credits: answered with `credits_given`
    return_credits,      ///< credits
    answer_recall,       ///< credits, perhaps none: the answer to `credits_recalled`
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
  std::string fairness_key{};
  cancel_reason reason = cancel_reason::gone;
  std::uint32_t key = 0;  ///< number of the API key
  std::size_t credits = 0;
};

/// What a frontend knows from the start.
struct desk_config {
  limits bounds;
  std::size_t admission_credits = 1024;  ///< of all frontends together
  bool credits_leased = false;           ///< else all of them belong to this desk
  bool half_close_ok = false;            ///< else a client that ends its direction has gone
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
  /// Connections that were turned away before the desk saw them, since the start.
  void connections_refused(std::uint64_t total);
  /// Refuses new work from now on; idle connections are closed, new ones get one answer.
  void drain(time_point now);

  // ---- what the rest of the house said ----
  void credits_given(std::size_t credits, time_point now);
  void credits_recalled();
  /// Ends the requests that are meant; their clients are told with code "aborted".
  void abort(const abort_wish& wish);
  void change_rules(desk_rules rules);

  // ---- what is to be done ----
  std::vector<desk_order> take_orders();
  std::vector<sequence_tokens_taken> take_windows();

  /// Requests whose end has not come yet.
  std::size_t open_requests() const { return requests_.size(); }
  std::size_t connections() const { return connections_.size(); }
  std::size_t credits_left() const { return credits_.idle(); }
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
    std::uint32_t key = 0;  // number of the API key, from 1
    time_point began{};
    time_point last_bytes{};
    std::uint64_t queued = 0;         // bytes given to the socket since it was opened
    std::vector<written_mark> marks;  // oldest first
    bool reading = true;
  };
  struct waiting_gate {
    connection_id at;
    exchange_id exchange;
  };
  struct open_request {
    connection_id at;
    exchange_id exchange;
    abort_wish abort;  // what ends it by name
    time_point began{};
    bool known = false;                 // the engine has spoken of it: a cancel finds it
    bool cancel_found = false;          // one was sent since
    bool gone = false;                  // the client left; the engine's last word is still to come
    std::optional<cancel_reason> ends;  // cancelled, and its client waits for the last word
  };

  void obey(connection_id id, connection& at, time_point now);
  void at_gate(connection_id id, connection& at, exchange_id exchange, time_point now);
  void enter(connection& at, exchange_id exchange, time_point now);
  bool known_full(time_point now) const;
  void want_credit(waiting_gate gate);
  void ask_for_credits();
  void serve_gate(const waiting_gate& gate, time_point now);
  void free_credit();
  void end_early(request_id request, open_request& open, cancel_reason reason);
  void end_late(time_point now);
  void tell_credits();
  void return_surplus();
  void serve_abort(connection& at, exchange_id exchange, time_point now);
  std::optional<error> closed_gate(const connection& at, const routing& to) const;
  error queue_full();
  void release_credit(connection& at);
  void serve_local(connection& at, exchange_id exchange, time_point now);
  http_response local_answer(route where, time_point now) const;
  void start_work(connection_id id, connection& at, exchange_id exchange);
  void client_gone(connection& at);
  void cancel(request_id request, open_request& open, cancel_reason reason);
  void respond(connection& at, exchange_id exchange, http_response response, time_point now);
  void deliver(const answer_piece& piece, connection_id id, connection& at, time_point now);
  static void add_own_fields(const connection& at, http_response& response, time_point now);
  void end_request(request_id request);
  struct finished_series {
    route where;
    int status_class;  // 2 for 2xx
    std::string method;
    std::size_t requests, duration;  // places in the counters
  };
  const finished_series& series_of(const connection& at, int status);
  void note_finished(const connection& at, int status, time_point now);
  std::uint32_t key_of(const connection& at) const;
  void flush(connection_id id, connection& at);
  void keep_alive(connection& at, time_point now);
  std::string make_label(const connection& at);

  desk_config config_;
  credit_lease credits_;
  std::deque<waiting_gate> gates_;           // whoever waits for a credit
  std::size_t credits_asked_ = 0;            // in the question under way; 0: there is none
  std::optional<time_point> pool_empty_at_;  // the last answer, if it was that
  engine_state state_;
  bool draining_ = false;
  std::uint64_t connections_refused_ = 0;
  std::uint64_t next_request_;
  std::uint64_t labels_made_ = 0;
  std::map<connection_id, connection> connections_;
  std::unordered_map<request_id, open_request> requests_;
  std::map<std::uint32_t, std::shared_ptr<const metrics>> others_;
  metrics counters_;
  std::vector<finished_series> finished_;
  std::vector<desk_order> orders_;
  std::vector<sequence_tokens_taken> windows_;
};

}  // namespace glimmer
