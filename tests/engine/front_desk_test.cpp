#include "engine/front_desk.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>

#include "tests/engine/counted.hpp"

namespace glimmer {
namespace {

using kind = desk_order::kind;

constexpr connection_id socket_1{1};
constexpr connection_id socket_2{2};

/// A desk with one hand on the sockets and one on the engine.
struct world {
  desk_config config;
  front_desk desk;
  time_point now{std::chrono::seconds{100}};
  std::string sent[3];
  std::vector<desk_order> orders;  // all but writes

  explicit world(desk_config c = {}) : config{std::move(c)}, desk{config} {
    desk.state_changed({.phase = engine_phase::serving});
    desk.opened(socket_1, now);
  }

  void look() {
    for (auto& order : desk.take_orders()) {
      if (order.what == kind::write) {
        sent[order.connection.value] += order.bytes;
      } else {
        orders.push_back(std::move(order));
      }
    }
  }
  void receive(std::string_view bytes, connection_id at = socket_1) {
    desk.received(at, bytes, now);
    look();
  }
  std::size_t count(kind what) const {
    return static_cast<std::size_t>(std::ranges::count(orders, what, &desk_order::what));
  }
  request_id last_request() const {
    const auto at = std::find_if(orders.rbegin(), orders.rend(),
                                 [](const auto& o) { return o.what == kind::prepare; });
    BOOST_REQUIRE(at != orders.rend());
    return at->request;
  }
  void answer(answer_piece piece) {
    desk.answer({&piece, 1}, now);
    look();
  }
  bool holds(std::string_view part, connection_id at = socket_1) const {
    return sent[at.value].find(part) != std::string::npos;
  }
};

/// A chat request with a body and further header lines.
struct chat_text {
  std::string_view body = "{}";
  std::string_view fields = "";
};
std::string chat(chat_text text = {}) {
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
         std::string{text.fields} + "Content-Length: " + std::to_string(text.body.size()) +
         "\r\n\r\n" + std::string{text.body};
}

constexpr auto health = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(front_desk_test)

BOOST_AUTO_TEST_CASE(a_chat_request_becomes_one_prepare_order_with_its_body) {
  world w;
  w.receive(chat({.body = "{\"a\":1}"}));
  BOOST_TEST(w.count(kind::prepare) == 1u);
  BOOST_TEST(w.orders.front().bytes == "{\"a\":1}");
  BOOST_TEST(w.desk.open_requests() == 1u);
}

BOOST_AUTO_TEST_CASE(a_unary_answer_goes_out_whole_and_frees_its_credit) {
  world w{{.admission_credits = 1}};
  w.receive(chat());
  w.answer({.request = w.last_request(), .bytes = "{\"ok\":true}", .last = true});
  BOOST_TEST(w.holds("HTTP/1.1 200 OK\r\n"));
  BOOST_TEST(w.holds("{\"ok\":true}"));
  BOOST_TEST(w.desk.open_requests() == 0u);
  w.receive(chat());
  BOOST_TEST(w.count(kind::prepare) == 2u);
}

BOOST_AUTO_TEST_CASE(a_stream_sends_its_head_with_the_first_piece_and_ends_with_the_last) {
  world w;
  w.receive(chat());
  const auto request = w.last_request();
  w.answer({.request = request, .bytes = "data: 1\n\n", .stream = true});
  BOOST_TEST(w.holds("text/event-stream"));
  BOOST_TEST(w.holds("data: 1\n\n"));
  w.answer({.request = request, .bytes = "data: [DONE]\n\n", .stream = true, .last = true});
  BOOST_TEST(w.holds("0\r\n\r\n"));
  BOOST_TEST(w.desk.open_requests() == 0u);
}

BOOST_AUTO_TEST_CASE(tokens_return_to_their_window_when_the_socket_took_their_bytes) {
  world w;
  w.receive(chat());
  w.answer({.request = w.last_request(),
            .bytes = "data: 1\n\n",
            .stands_for = {{sequence_id{7}, 3}},
            .stream = true});
  BOOST_TEST(w.desk.take_windows().empty());
  w.desk.written(socket_1, {.sent = 10}, w.now);
  BOOST_TEST(w.desk.take_windows().empty());
  w.desk.written(socket_1, {.sent = w.sent[1].size(), .all = true}, w.now);
  const auto windows = w.desk.take_windows();
  BOOST_REQUIRE(windows.size() == 1u);
  BOOST_TEST(windows[0].tokens == 3u);
}

BOOST_AUTO_TEST_CASE(a_client_that_leaves_is_cancelled_and_its_windows_come_back) {
  world w;
  w.receive(chat());
  const auto request = w.last_request();
  w.answer({.request = request,
            .bytes = "data: 1\n\n",
            .stands_for = {{sequence_id{7}, 2}},
            .stream = true});
  w.desk.lost(socket_1, w.now);
  w.look();
  BOOST_TEST(w.count(kind::cancel) == 1u);
  BOOST_TEST(w.count(kind::close) == 1u);
  BOOST_TEST(w.desk.take_windows().size() == 1u);
  BOOST_TEST(w.desk.open_requests() == 1u);  // until the engine has let go
  w.answer({.request = request, .stream = true, .last = true});
  BOOST_TEST(w.desk.open_requests() == 0u);
}

BOOST_AUTO_TEST_CASE(a_unary_client_that_leaves_is_noticed_too) {
  world w;
  w.receive(chat());
  w.desk.input_ended(socket_1, w.now);
  w.look();
  BOOST_TEST(w.count(kind::cancel) == 1u);
}

BOOST_AUTO_TEST_CASE(a_cancel_that_came_too_early_is_repeated_once) {
  world w;
  w.receive(chat());
  const auto request = w.last_request();
  w.desk.lost(socket_1, w.now);
  w.look();
  for (int i = 0; i < 50; ++i) {  // whatever was on its way
    w.answer({.request = request, .bytes = "data: 1\n\n", .stream = true});
    BOOST_TEST(w.count(kind::cancel) == 2u);
  }
}

BOOST_AUTO_TEST_CASE(beyond_its_credits_a_frontend_answers_429_before_the_body) {
  world w{{.admission_credits = 1}};
  w.receive(chat());
  w.desk.opened(socket_2, w.now);
  w.receive("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", socket_2);
  BOOST_TEST(w.holds("HTTP/1.1 429", socket_2));
  BOOST_TEST(w.holds("retry-after: 1", socket_2));
  BOOST_TEST(w.count(kind::prepare) == 1u);
}

BOOST_AUTO_TEST_CASE(a_body_that_never_comes_gives_its_credit_back) {
  world w{{.admission_credits = 1}};
  w.receive("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{");
  w.desk.lost(socket_1, w.now);
  w.look();
  w.desk.opened(socket_2, w.now);
  w.receive(chat(), socket_2);
  BOOST_TEST(w.count(kind::prepare) == 1u);
}

BOOST_AUTO_TEST_CASE(before_the_weights_are_loaded_health_is_503_and_chat_is_503) {
  world w;
  w.desk.state_changed({.phase = engine_phase::loading});
  w.receive(health);
  BOOST_TEST(w.holds("HTTP/1.1 503"));
  w.receive(chat());
  BOOST_TEST(w.count(kind::prepare) == 0u);
}

BOOST_AUTO_TEST_CASE(health_is_200_when_serving_and_503_when_work_is_stuck) {
  world w;
  w.receive(health);
  BOOST_TEST(w.holds("HTTP/1.1 200"));
  engine_state stuck{.phase = engine_phase::serving};
  stuck.scheduler.has_work = true;
  stuck.scheduler.last_progress = time_point{std::chrono::seconds{1}};
  w.desk.state_changed(stuck);
  w.receive(health);
  BOOST_TEST(w.holds("HTTP/1.1 503"));
}

BOOST_AUTO_TEST_CASE(without_its_key_nothing_but_monitoring_is_served) {
  world w{{.api_keys = {"secret"}}};
  w.receive(chat());
  BOOST_TEST(w.holds("HTTP/1.1 401"));
  w.receive(health);
  BOOST_TEST(w.holds("HTTP/1.1 200"));
  BOOST_TEST(w.count(kind::prepare) == 0u);
  w.receive(chat({.fields = "Authorization: Bearer secret\r\n"}));
  BOOST_TEST(w.count(kind::prepare) == 1u);
}

BOOST_AUTO_TEST_CASE(no_spelling_of_a_path_or_header_passes_the_key_check) {
  for (const std::string target :
       {"//v1/chat/completions", "/%761/chat/completions", "/v1/../v1/chat/completions",
        "http://evil/v1/chat/completions", "/v1/chat/completions/", "/V1/chat/completions"}) {
    world w{{.api_keys = {"secret"}}};
    w.receive("POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
    BOOST_TEST((w.holds("HTTP/1.1 401") || w.holds("HTTP/1.1 400")), target);
    BOOST_TEST(w.count(kind::prepare) == 0u);
  }
  for (const std::string field :
       {"Authorization: Bearer secret2", "Authorization: secret", "Authorization: Bearer",
        "Authorization: Bearer secre", "x-api-key: SECRET"}) {
    world w{{.api_keys = {"secret"}}};
    const auto line = field + "\r\n";
    w.receive(chat({.fields = line}));
    BOOST_TEST(w.holds("HTTP/1.1 401"), field);
  }
}

BOOST_AUTO_TEST_CASE(unknown_paths_are_404_and_wrong_methods_405_with_allow) {
  world w;
  w.receive("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n");
  BOOST_TEST(w.holds("HTTP/1.1 404"));
  w.receive("GET /v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n");
  BOOST_TEST(w.holds("HTTP/1.1 405"));
  BOOST_TEST(w.holds("Allow: POST"));
}

BOOST_AUTO_TEST_CASE(invented_methods_and_paths_make_no_series_of_their_own) {
  world w;
  for (int i = 0; i < 50; ++i) {
    const auto name = std::to_string(i);
    w.receive("M" + name + " /health HTTP/1.1\r\nHost: x\r\n\r\n");
    w.receive("GET /p" + name + " HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  BOOST_TEST(w.desk.counters().all().size() < 10u);
}

BOOST_AUTO_TEST_CASE(a_body_that_is_not_json_by_its_own_word_is_415) {
  world w;
  w.receive(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n"
      "Content-Length: 2\r\n\r\n{}");
  BOOST_TEST(w.holds("HTTP/1.1 415"));
}

BOOST_AUTO_TEST_CASE(while_draining_new_work_is_503_and_open_work_ends) {
  world w;
  w.receive(chat());
  const auto request = w.last_request();
  const auto late = chat();
  w.desk.opened(socket_2, w.now);
  w.receive(late.substr(0, 9), socket_2);
  w.desk.drain(w.now);
  w.look();
  w.receive(late.substr(9), socket_2);
  BOOST_TEST(w.holds("HTTP/1.1 503", socket_2));
  w.answer({.request = request, .bytes = "{}", .last = true});
  BOOST_TEST(w.holds("HTTP/1.1 200"));
  BOOST_TEST(w.desk.open_requests() == 0u);
}

BOOST_AUTO_TEST_CASE(who_comes_while_draining_is_told_when_to_come_again_and_nothing_else) {
  world w;
  w.receive(chat());
  w.desk.drain(w.now);
  w.desk.opened(socket_2, w.now);
  w.receive(chat() + chat(), socket_2);
  BOOST_TEST(w.holds("HTTP/1.1 503", socket_2));
  BOOST_TEST(w.holds("retry-after: ", socket_2));
  BOOST_TEST(w.holds("connection: close", socket_2));
  BOOST_TEST(w.sent[2].find("HTTP/1.1", 1) == std::string::npos);  // one answer
  BOOST_TEST(w.count(kind::shut_down) == 1u);
}

BOOST_AUTO_TEST_CASE(connections_are_counted_and_so_are_those_turned_away) {
  world w;
  w.desk.opened(socket_2, w.now);
  w.desk.connections_refused(3);
  w.desk.connections_refused(5);
  w.desk.tick(w.now);
  BOOST_TEST(counted(w.desk.counters(), metric::connections) == 2);
  BOOST_TEST(counted(w.desk.counters(), metric::connections_refused) == 5);
}

BOOST_AUTO_TEST_CASE(the_clients_request_id_comes_back_and_a_foul_one_does_not) {
  world w;
  w.receive("GET /health HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine-1\r\n\r\n");
  BOOST_TEST(w.holds("x-request-id: mine-1"));
  w.receive("GET /health HTTP/1.1\r\nHost: x\r\nX-Request-Id: a b\r\n\r\n");
  BOOST_TEST(!w.holds("x-request-id: a b"));
  BOOST_TEST(w.holds("x-request-id: req-"));
}

BOOST_AUTO_TEST_CASE(every_answer_tells_how_long_it_took) {
  world w;
  w.receive(chat());
  w.now = w.now + std::chrono::milliseconds{37};
  w.answer({.request = w.last_request(), .bytes = "{}", .last = true});
  BOOST_TEST(w.holds("openai-processing-ms: 37\r\n"));
  w.receive(chat());
  w.now = w.now + std::chrono::milliseconds{5};
  w.answer({.request = w.last_request(), .bytes = "data: 1\n\n", .stream = true});
  BOOST_TEST(w.holds("openai-processing-ms: 5\r\n"));  // until its head
}

BOOST_AUTO_TEST_CASE(a_client_that_ended_its_direction_is_served_only_where_that_is_allowed) {
  for (const bool allowed : {false, true}) {
    world w{{.half_close_ok = allowed}};
    w.receive(chat());
    w.desk.input_ended(socket_1, w.now);
    w.look();
    BOOST_TEST(w.count(kind::cancel) == (allowed ? 0u : 1u));
    w.answer({.request = w.last_request(), .bytes = "{}", .last = true});
    BOOST_TEST(w.holds("HTTP/1.1 200") == allowed);
  }
}

BOOST_AUTO_TEST_CASE(a_quiet_stream_says_that_it_lives) {
  world w;
  w.receive(chat());
  w.answer({.request = w.last_request(), .bytes = "data: 1\n\n", .stream = true});
  w.now = w.now + std::chrono::seconds{16};
  w.desk.tick(w.now);
  w.look();
  BOOST_TEST(w.holds(": keep-alive\n\n"));
}

BOOST_AUTO_TEST_CASE(a_refusal_after_acceptance_is_the_answer) {
  world w;
  w.receive(chat());
  w.desk.refuse(w.last_request(), bad_value("temperature", "must be at least 0"), w.now);
  w.look();
  BOOST_TEST(w.holds("HTTP/1.1 400"));
  BOOST_TEST(w.holds("\"param\":\"temperature\""));
  BOOST_TEST(w.desk.open_requests() == 0u);
}

BOOST_AUTO_TEST_CASE(request_ids_are_dealt_out_by_stride) {
  world w{{.first_request = 5, .request_stride = 3}};
  w.receive(chat());
  w.answer({.request = w.last_request(), .bytes = "{}", .last = true});
  w.receive(chat());
  BOOST_TEST(w.last_request().value == 8u);
}

// Clients come, send whole or partial requests, leave; the engine answers in any order. At the end
// no request is open and all credits are back.
BOOST_AUTO_TEST_CASE(whatever_clients_do_every_request_ends_and_no_credit_is_lost) {
  const auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 draw{seed};
  world w{{.admission_credits = 4}};
  w.desk.lost(socket_1, w.now);
  w.look();
  std::uint64_t next = 10;
  std::vector<connection_id> open;
  std::vector<request_id> running;
  const auto pick = [&](auto& from) { return from[draw() % from.size()]; };
  const auto absorb = [&] {
    for (auto& order : w.desk.take_orders()) {
      if (order.what == kind::prepare) running.push_back(order.request);
      if (order.what == kind::close) std::erase(open, order.connection);
    }
  };
  const auto end_one = [&] {
    const auto request = pick(running);
    std::erase(running, request);
    const answer_piece piece{.request = request, .bytes = "{}", .last = true};
    if (draw() % 4 == 0) {
      w.desk.refuse(request, bad_value("x", "no"), w.now);
    } else {
      w.desk.answer({&piece, 1}, w.now);
    }
  };
  for (int i = 0; i < 3000; ++i) {
    w.now = w.now + std::chrono::milliseconds{draw() % 50};
    switch (draw() % 5) {
      case 0:
        open.push_back({next++});
        w.desk.opened(open.back(), w.now);
        break;
      case 1:
        if (!open.empty()) w.desk.received(pick(open), chat(), w.now);
        break;
      case 2: {
        const auto text = chat();
        if (!open.empty()) {
          w.desk.received(pick(open), std::string_view{text}.substr(0, draw() % text.size()),
                          w.now);
        }
        break;
      }
      case 3:
        if (!open.empty()) w.desk.lost(pick(open), w.now);
        break;
      case 4:
        if (!running.empty()) end_one();
        break;
    }
    absorb();
  }
  while (!open.empty()) {
    w.desk.lost(open.front(), w.now);
    absorb();
  }
  while (!running.empty()) {
    end_one();
    absorb();
  }
  BOOST_TEST(w.desk.open_requests() == 0u);
  BOOST_TEST(w.desk.connections() == 0u);
  BOOST_TEST(w.desk.credits_left() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
