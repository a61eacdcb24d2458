#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/limits.hpp"
#include "protocol/http_head.hpp"
#include "protocol/http_parser.hpp"
#include "protocol/http_response.hpp"

namespace glimmer {

/// One request and its answer on a connection, counted from 1. Calls that name an exchange which
/// has ended do nothing, so late answers to a client that left are harmless.
using exchange_id = strong_id<struct exchange_tag>;

/// What the owner of the socket must do.
struct http_action {
  enum class kind : std::uint8_t {
    ask_gate,   ///< the head is whole, the body unread: `accept` it or answer at once
    request,    ///< an accepted request is whole: `head()`, `take_body()`; start the work
    refuse,     ///< answer with this refusal; an accepted request ends by it
    cancel,     ///< the client has gone: end the work; no answer is possible
    shut_down,  ///< after all output so far: end our direction of the socket
    close,      ///< close the socket now; nothing else will come
  };
  kind what = kind::close;
  exchange_id exchange;
  http_refusal refusal;  ///< refuse only
};

struct http_connection_options {
  bool half_close_ok = false;  ///< else a client that ends its direction is taken as gone
  bool one_request = false;    ///< the connection ends behind the first answer
};

/// The server's side of one HTTP/1.x connection, without socket and clock.
///
/// The owner reports what happened (`feed`, `input_ended`, `lost`, `flushed`, `tick`), then takes
/// actions until there are none, then writes `output()`:
///
///     connection.feed(bytes, now);
///     while (auto action = connection.next_action()) obey(*action);   // may call respond()
///     socket.write(connection.output());
///     connection.clear_output();
///     // then a shut_down that was told, then a close
///
/// Requests are worked on one at a time, so answers leave in order; pipelined bytes wait unparsed
/// up to a limit, then `wants_read()` turns false. Every `ask_gate` is followed by exactly one end:
/// the owner's answer, a `refuse`, or a `cancel`. Not thread-safe.
class http_connection {
 public:
  http_connection(const limits& bounds, http_connection_options options, time_point now);

  // ---- what happened on the socket ----

  void feed(std::string_view bytes, time_point now);
  /// The peer ended its direction (end of file).
  void input_ended(time_point now);
  /// The socket failed; nothing can be written any more.
  void lost();
  /// All output and a requested end of our direction have left the process.
  void flushed(time_point now);
  /// Time has passed; call at `deadline()` or about once a second.
  void tick(time_point now);
  /// No further request after the one in work; a connection's first is answered all the same.
  void drain(time_point now);

  // ---- what to do about it ----

  std::optional<http_action> next_action();
  /// Bytes to write; reused, so that a token costs no allocation.
  std::string_view output() const { return output_; }
  void clear_output();
  /// Whether more input may be fed; else stop reading until it turns true again.
  bool wants_read() const;
  /// When `tick` has something to do at the earliest.
  std::optional<time_point> deadline() const { return deadline_; }

  // ---- the exchange in work ----

  exchange_id current() const { return current_; }
  /// Head of the exchange in work, until it ends.
  const http_request_head& head() const { return parser_.head(); }
  /// Body of the exchange in work, moved out.
  std::string take_body();

  /// Gate 1 said yes: the body is read (and "100 Continue" sent if the client waits for it).
  void accept(exchange_id exchange, time_point now);
  /// Sends a whole answer; allowed from `ask_gate` on. HEAD sends no body. Returns false if the
  /// exchange has ended before.
  bool respond(exchange_id exchange, const http_response& response, time_point now);
  /// Sends the head of a stream; then `stream` any number of times, then `end_stream`.
  bool start_stream(exchange_id exchange, const http_response& response);
  bool stream(exchange_id exchange, std::string_view bytes);
  bool end_stream(exchange_id exchange, time_point now);
  /// Ends a stream so that the client sees it is not whole: the connection breaks.
  void break_off(exchange_id exchange);
  /// Whether the head of the answer to this exchange is out and its end is not.
  bool streaming(exchange_id exchange) const { return is_current(exchange) && streaming_; }

 private:
  enum class phase : std::uint8_t {
    idle,     // between requests
    header,   // some bytes of a head are there
    gate,     // the owner is asked
    body,     // accepted, the body is coming
    work,     // the owner has the whole request (or a refusal to render)
    discard,  // answered early, the rest of the body is thrown away
    linger,   // our direction is ended; waiting for the peer's end
    closed,
  };

  bool is_current(exchange_id exchange) const;
  void consume(std::string_view& bytes, time_point now);
  void consume_held(time_point now);
  std::string_view held() const { return std::string_view{held_}.substr(held_done_); }
  void drop_held();
  void on_event(http_event event, time_point now);
  void on_body(time_point now);
  void on_complete(time_point now);
  void refuse_request(http_refusal why);
  void settle_keep_alive();
  void finish_response(time_point now);
  void begin_next_request(time_point now);
  void begin_linger(time_point now);
  void give_up();
  void act(http_action::kind what);
  void set_body_deadline(time_point now);

  limits bounds_;
  http_connection_options options_;
  http_parser parser_;
  phase phase_ = phase::idle;
  exchange_id current_;
  bool owner_holds_ = false;  // ask_gate was told and has not ended
  bool streaming_ = false;
  bool chunked_ = false;  // framing of the stream
  bool close_after_ = false;
  bool draining_ = false;
  bool input_ended_ = false;
  bool flushed_ = true;
  std::string held_;           // input behind the request in work
  std::size_t held_done_ = 0;  // bytes of held_ that are parsed
  std::string body_;
  std::string output_;
  std::vector<http_action> actions_;
  std::size_t discarded_ = 0;
  std::uint64_t body_read_ = 0;
  time_point body_began_;
  std::optional<time_point> deadline_;
};

}  // namespace glimmer
