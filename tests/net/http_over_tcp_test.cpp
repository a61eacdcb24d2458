#include <boost/test/unit_test.hpp>
#include <list>
#include <memory>
#include <string>

#include "net/tcp_connection.hpp"
#include "net/tcp_listener.hpp"
#include "protocol/http_connection.hpp"
#include "tests/net/loopback.hpp"

namespace glimmer {
namespace {

/// Joins one socket to one HTTP machine, as a frontend does. Paths choose the behaviour:
/// /wait leaves the request unanswered, /deny is turned away at the gate, others echo the body.
class served : public tcp_events {
 public:
  served(event_loop& loop, duration& skew, std::unique_ptr<tcp_connection> socket)
      : loop_{loop}, skew_{skew}, http{limits{}, {}, now()}, socket_{std::move(socket)} {
    socket_->start(*this);
  }

  void on_bytes(std::string_view bytes) override {
    http.feed(bytes, now());
    settle();
  }
  void on_end() override {
    http.input_ended(now());
    settle();
  }
  void on_lost(std::string_view) override {
    http.lost();
    settle();
  }
  void on_written() override {
    if (socket_->unsent() == 0) http.flushed(now());
    settle();
  }
  void on_shut_down() override {
    http.flushed(now());
    settle();
  }
  void tick() {
    http.tick(now());
    settle();
  }

  void settle() {
    bool shut_down = false;
    bool close = false;
    while (const auto action = http.next_action()) {
      using kind = http_action::kind;
      const auto id = action->exchange;
      switch (action->what) {
        case kind::ask_gate:
          if (http.head().path() == "/deny") {
            http.respond(id, {.status = 429, .body = "denied"}, now());
          } else {
            http.accept(id, now());
          }
          break;
        case kind::request:
          if (http.head().path() != "/wait") http.respond(id, {.body = http.take_body()}, now());
          break;
        case kind::refuse: {
          const auto& why = action->refusal;
          http.respond(id, {.status = why.status, .body = why.text}, now());
          break;
        }
        case kind::cancel: ++cancels; break;
        case kind::shut_down: shut_down = true; break;
        case kind::close: close = true; break;
      }
    }
    if (!socket_) return;
    socket_->write(http.output());
    http.clear_output();
    if (shut_down) socket_->shut_down();
    if (close) socket_.reset();
  }

  bool closed() const { return !socket_; }
  int cancels = 0;

 private:
  time_point now() const { return loop_.now() + skew_; }

  event_loop& loop_;
  duration& skew_;

 public:
  http_connection http;

 private:
  std::unique_ptr<tcp_connection> socket_;
};

struct http_server {
  http_server() {
    listen_options options;
    options.address.port = 0;
    auto opened = tcp_listener::open(loop, options, [this](auto socket) {
      connections.emplace_back(loop, skew, std::move(socket));
    });
    BOOST_REQUIRE(opened.has_value());
    listener = std::move(*opened);
  }
  test_client client() { return test_client{listener->port()}; }
  served& newest() {
    BOOST_REQUIRE(drive(loop, [&] { return !connections.empty(); }));
    return connections.back();
  }

  event_loop loop;
  duration skew{};
  std::unique_ptr<tcp_listener> listener;
  std::list<served> connections;
};

std::string post(std::string_view path, const std::string& body) {
  return "POST " + std::string{path} +
         " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(http_over_tcp_cases)

BOOST_AUTO_TEST_CASE(requests_and_large_bodies_pass_through_the_sockets) {
  http_server server;
  auto client = server.client();
  client.send(post("/", "one") + post("/", "two"));
  BOOST_TEST(drive(server.loop, [&] { return client.read().ends_with("\r\n\r\ntwo"); }));

  const std::string large(4 << 20, 'x');
  const auto text = post("/", large);
  std::size_t sent = 0;
  BOOST_TEST(drive(server.loop, [&] {
    sent += client.send_some(std::string_view{text}.substr(sent));
    return client.read().ends_with(large);
  }));
}

BOOST_AUTO_TEST_CASE(a_client_reads_its_429_though_nobody_read_its_body) {
  http_server server;
  for (const std::size_t size : {std::size_t{1} << 10, std::size_t{4} << 20}) {
    for (const auto expect : {"", "Connection: close\r\n"}) {
      auto client = server.client();
      const auto text = "POST /deny HTTP/1.1\r\nHost: h\r\n" + std::string{expect} +
                        "Content-Length: " + std::to_string(size) + "\r\n\r\n" +
                        std::string(size, 'x');
      std::size_t sent = 0;
      BOOST_TEST(drive(server.loop, [&] {
        sent += client.send_some(std::string_view{text}.substr(sent));
        return sent == text.size() && client.read().ends_with("denied");
      }));
      BOOST_TEST(client.read().starts_with("HTTP/1.1 429 "));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_client_that_leaves_is_noticed_while_it_waits) {
  http_server server;
  auto polite = server.client();
  polite.send(post("/wait", ""));
  BOOST_TEST(drive(server.loop, [&] { return server.newest().http.current().value == 1; }));
  polite.close();
  BOOST_TEST(drive(server.loop, [&] { return server.newest().cancels == 1; }));
  BOOST_TEST(server.newest().closed());

  auto rude = server.client();
  rude.send(post("/wait", ""));
  BOOST_TEST(drive(server.loop, [&] {
    return server.connections.size() == 2 && server.newest().http.current().value == 1;
  }));
  rude.reset();
  BOOST_TEST(drive(server.loop, [&] { return server.newest().cancels == 1; }));
}

BOOST_AUTO_TEST_CASE(garbage_is_answered_and_the_socket_ends) {
  http_server server;
  auto client = server.client();
  client.send("\x16\x03\x01\x02\x03 not http\r\n\r\n");
  BOOST_TEST(drive(server.loop, [&] { return client.ended(); }));
  BOOST_TEST(client.read().starts_with("HTTP/1.1 400 "));
  client.close();
  BOOST_TEST(drive(server.loop, [&] { return server.newest().closed(); }));
}

BOOST_AUTO_TEST_CASE(slow_and_idle_clients_lose_their_sockets_and_others_are_served) {
  http_server server;
  auto slow = server.client();
  auto idle = server.client();
  slow.send("GET / HT");
  BOOST_TEST(drive(server.loop, [&] {
    return server.connections.size() == 2 && server.connections.front().http.deadline() &&
           server.connections.front().http.deadline() < server.connections.back().http.deadline();
  }));
  server.skew += std::chrono::seconds{11};
  for (auto& each : server.connections) each.tick();
  BOOST_TEST(drive(server.loop, [&] { return slow.ended(); }));
  BOOST_TEST(slow.read().starts_with("HTTP/1.1 408 "));
  BOOST_TEST(!idle.ended());
  server.skew += std::chrono::seconds{75};
  for (auto& each : server.connections) each.tick();
  BOOST_TEST(drive(server.loop, [&] { return idle.ended(); }));
  auto next = server.client();
  next.send(post("/", "fine"));
  BOOST_TEST(drive(server.loop, [&] { return next.read().ends_with("fine"); }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
