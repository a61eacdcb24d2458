#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/http_connection.hpp"

namespace glimmer {

/// A connection with its owner and a clock that the test moves. Actions are kept as words:
/// "gate1 request1 cancel1 refuse1(408) shut close".
struct http_peer {
  explicit http_peer(const limits& bounds = {}, http_connection_options options = {})
      : connection{bounds, options, time_point{}} {}

  enum class gate { accept, hold };
  gate at_gate = gate::accept;

  void feed(std::string_view bytes) {
    connection.feed(bytes, now);
    obey();
  }
  void end_input() {
    connection.input_ended(now);
    obey();
  }
  void pass(std::chrono::milliseconds time) {
    now = now + time;
    connection.tick(now);
    obey();
  }
  bool answer(std::string_view body, int status = 200) {
    has_request = false;
    const bool took = connection.respond(
        connection.current(),
        {.status = status, .content_type = "", .fields = {}, .body = std::string{body}}, now);
    obey();
    return took;
  }

  void obey() {
    using kind = http_action::kind;
    while (auto action = connection.next_action()) {
      const auto id = std::to_string(action->exchange.value);
      switch (action->what) {
        case kind::ask_gate:
          told += "gate" + id + " ";
          if (at_gate == gate::accept) connection.accept(action->exchange, now);
          break;
        case kind::request:
          told += "request" + id + " ";
          bodies.push_back(connection.take_body());
          has_request = true;
          break;
        case kind::refuse:
          told += "refuse" + id + "(" + std::to_string(action->refusal.status) + ") ";
          break;
        case kind::cancel: told += "cancel" + id + " "; break;
        case kind::shut_down: told += "shut "; break;
        case kind::close: told += "close "; break;
      }
    }
    wire += connection.output();
    connection.clear_output();
  }

  http_connection connection;
  time_point now;
  std::string told;
  std::string wire;
  std::vector<std::string> bodies;
  bool has_request = false;  // told and not answered
};

inline const std::string get_request = "GET /health HTTP/1.1\r\nHost: h\r\n\r\n";

inline std::string post_request(std::string_view body, const char* fields = "") {
  return std::string{"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n"} + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string{body};
}

inline std::string answer_text(std::string_view body, bool keeps = true) {
  return "HTTP/1.1 200 OK\r\ncontent-length: " + std::to_string(body.size()) + "\r\n" +
         (keeps ? "" : "connection: close\r\n") + "\r\n" + std::string{body};
}

}  // namespace glimmer
