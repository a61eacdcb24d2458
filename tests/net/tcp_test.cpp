#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "net/process.hpp"
#include "net/tcp_connection.hpp"
#include "net/tcp_listener.hpp"
#include "tests/net/loopback.hpp"

namespace glimmer {
namespace {

/// Keeps what a connection told.
struct recorder : tcp_events {
  std::unique_ptr<tcp_connection> connection;
  std::string got;
  bool ended = false;
  bool lost = false;
  bool shut_down = false;
  bool echo = false;

  void on_bytes(std::string_view bytes) override {
    got += bytes;
    if (echo) connection->write(bytes);
  }
  void on_end() override { ended = true; }
  void on_lost(std::string_view) override {
    lost = true;
    connection.reset();
  }
  void on_written() override {}
  void on_shut_down() override { shut_down = true; }
};

struct server {
  explicit server(bool echoes = false, std::size_t connections_max = 100) {
    listen_options options;
    options.address.port = 0;
    options.connections_max = connections_max;
    auto opened = tcp_listener::open(loop, options, [this, echoes](auto connection) {
      auto& made = accepted.emplace_back();
      made.echo = echoes;
      made.connection = std::move(connection);
      made.connection->start(made);
    });
    BOOST_REQUIRE(opened.has_value());
    listener = std::move(*opened);
  }
  recorder& newest() {
    BOOST_REQUIRE(drive(loop, [&] { return !accepted.empty(); }));
    return accepted.back();
  }

  event_loop loop;
  std::unique_ptr<tcp_listener> listener;
  std::list<recorder> accepted;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tcp_cases)

BOOST_AUTO_TEST_CASE(bytes_travel_both_ways) {
  server here{true};
  test_client client{here.listener->port()};
  client.send("hello");
  BOOST_TEST(drive(here.loop, [&] { return client.read() == "hello"; }));
  BOOST_TEST(here.newest().connection->peer().starts_with("127.0.0.1:"));
  BOOST_TEST(here.newest().connection->sent() == 5u);
  BOOST_TEST(here.newest().connection->unsent() == 0u);
}

// The first write meets a peer that has closed and resets; the second one would raise SIGPIPE.
BOOST_AUTO_TEST_CASE(writing_on_to_a_peer_that_left_ends_the_connection_not_the_process) {
  server here;
  test_client client{here.listener->port()};
  auto& peer = here.newest();
  client.close();
  for (int i = 0; i < 3; ++i) peer.connection->write("data");
  BOOST_TEST(drive(here.loop, [&] { return peer.lost; }));
}

BOOST_AUTO_TEST_CASE(what_the_socket_does_not_take_is_kept_and_sent_in_order) {
  const auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  server here;
  test_client client{here.listener->port()};
  auto& connection = *here.newest().connection;
  std::string all;
  std::size_t unsent_max = 0;
  while (all.size() < (16u << 20)) {
    const std::string piece(1 + random() % 300'000, static_cast<char>('a' + random() % 26));
    connection.write(piece);
    all += piece;
    unsent_max = std::max(unsent_max, connection.unsent());
    if (random() % 4 == 0) here.loop.poll();
    if (all.size() > (12u << 20) && random() % 8 == 0) client.read();
  }
  BOOST_TEST(unsent_max > 0u);
  connection.shut_down();
  BOOST_TEST(drive(here.loop, [&] { return client.ended(); }));
  BOOST_TEST((client.read() == all), "seed " << seed);
  BOOST_TEST(connection.sent() == all.size());
  BOOST_TEST(connection.unsent() == 0u);
  BOOST_TEST(drive(here.loop, [&] { return here.newest().shut_down; }));
}

BOOST_AUTO_TEST_CASE(an_end_and_a_reset_are_told_apart) {
  server here;
  test_client polite{here.listener->port()};
  auto& first = here.newest();
  polite.send("bye");
  polite.end_output();
  BOOST_TEST(drive(here.loop, [&] { return first.ended; }));
  BOOST_TEST(first.got == "bye");
  BOOST_TEST(!first.lost);
  first.connection->write("answer");
  BOOST_TEST(drive(here.loop, [&] { return polite.read() == "answer"; }));

  test_client rude{here.listener->port()};
  BOOST_REQUIRE(drive(here.loop, [&] { return here.accepted.size() == 2; }));
  rude.reset();
  BOOST_TEST(drive(here.loop, [&] { return here.accepted.back().lost; }));
}

BOOST_AUTO_TEST_CASE(writing_to_a_client_that_left_is_told_later_and_once) {
  server here;
  test_client client{here.listener->port()};
  auto& record = here.newest();
  record.connection->pause_reading();
  client.reset();
  const std::string piece(1 << 20, 'x');
  BOOST_TEST(drive(
      here.loop,
      [&] {
        if (record.connection) record.connection->write(piece);
        return record.lost;
      },
      100));
}

BOOST_AUTO_TEST_CASE(a_paused_connection_reads_nothing_until_it_resumes) {
  server here;
  test_client client{here.listener->port()};
  auto& record = here.newest();
  record.connection->pause_reading();
  client.send("later");
  for (int i = 0; i < 100; ++i) here.loop.poll();
  BOOST_TEST(record.got.empty());
  record.connection->resume_reading();
  BOOST_TEST(drive(here.loop, [&] { return record.got == "later"; }));
}

BOOST_AUTO_TEST_CASE(destroying_a_connection_closes_it_also_inside_a_call) {
  struct quitter : recorder {
    void on_bytes(std::string_view) override { connection.reset(); }
  };
  event_loop loop;
  quitter owner;
  listen_options options;
  options.address.port = 0;
  auto listener = tcp_listener::open(loop, options, [&](auto connection) {
    owner.connection = std::move(connection);
    owner.connection->start(owner);
  });
  test_client client{(*listener)->port()};
  client.send("x");
  BOOST_TEST(drive(loop, [&] { return client.ended(); }));
  BOOST_TEST(drive(loop, [&] { return (*listener)->connections() == 0; }));
}

BOOST_AUTO_TEST_CASE(connections_above_the_limit_are_turned_away) {
  server here{false, 2};
  std::vector<test_client> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(here.listener->port());
  BOOST_TEST(drive(here.loop, [&] { return clients[2].ended(); }));
  BOOST_TEST(here.listener->refused() == 1u);
  BOOST_TEST(here.listener->connections() == 2u);
  clients[0].close();
  BOOST_TEST(drive(here.loop, [&] { return here.accepted.front().ended; }));
  here.accepted.pop_front();
  BOOST_TEST(drive(here.loop, [&] { return here.listener->connections() == 1; }));
  test_client next{here.listener->port()};
  BOOST_TEST(drive(here.loop, [&] { return here.accepted.size() == 2; }));
}

BOOST_AUTO_TEST_CASE(a_taken_port_is_refused_in_one_sentence) {
  server here;
  listen_options options;
  options.address.port = here.listener->port();
  const auto expected = "cannot listen on 127.0.0.1:" + std::to_string(options.address.port) +
                        ": address already in use";
  const auto again = tcp_listener::open(here.loop, options, [](auto) {});
  BOOST_REQUIRE(!again.has_value());
  BOOST_TEST(again.error().text == expected);
  BOOST_TEST(check_port_free(options.address).error().text == expected);
  const auto nowhere = tcp_listener::open(here.loop, {.address = {"no.such.host.invalid", 1}}, {});
  BOOST_TEST(!nowhere.has_value());
}

BOOST_AUTO_TEST_CASE(several_listeners_may_share_a_port) {
  event_loop loop;
  listen_options options;
  options.share_port = true;
  options.address.port = check_port_free({"127.0.0.1", 0}).value();
  std::list<recorder> accepted;
  const auto accept = [&](std::unique_ptr<tcp_connection> connection) {
    accepted.emplace_back().connection = std::move(connection);
  };
  const auto first = tcp_listener::open(loop, options, accept);
  const auto second = tcp_listener::open(loop, options, accept);
  BOOST_REQUIRE(first.has_value());
  BOOST_REQUIRE(second.has_value());
  BOOST_TEST(!check_port_free(options.address).has_value());
  std::vector<test_client> clients;
  for (int i = 0; i < 32; ++i) clients.emplace_back(options.address.port);
  BOOST_TEST(drive(loop, [&] { return accepted.size() == 32; }));
  BOOST_TEST((*first)->connections() + (*second)->connections() == 32u);
}

BOOST_AUTO_TEST_CASE(a_thousand_idle_connections_are_held) {
  if (raise_descriptor_limit() < 2200) return;
  server here{false, 1000};
  std::vector<test_client> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.emplace_back(here.listener->port());
    here.loop.poll();
  }
  BOOST_TEST(drive(here.loop, [&] { return here.accepted.size() == 1000; }));
  BOOST_TEST(here.listener->refused() == 0u);
  clients[500].send("still here");
  BOOST_TEST(drive(here.loop, [&] {
    return std::ranges::any_of(here.accepted,
                               [](const recorder& r) { return r.got == "still here"; });
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
