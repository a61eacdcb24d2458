#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>

#include "engine/front_desk.hpp"

namespace glimmer {
namespace {

using kind = desk_order::kind;
using std::chrono::seconds;

constexpr connection_id socket_1{1};
constexpr connection_id socket_2{2};
constexpr connection_id socket_3{3};

desk_config leased(std::size_t credits) {
  desk_config out{.admission_credits = credits};
  out.credits_leased = true;
  return out;
}

/// A serving desk with two open sockets.
struct counter {
  front_desk desk;
  time_point now{seconds{100}};
  std::string sent[4];
  std::vector<desk_order> orders;  // all but writes

  explicit counter(desk_config config) : desk{std::move(config)} {
    desk.state_changed({.phase = engine_phase::serving});
    desk.opened(socket_1, now);
    desk.opened(socket_2, now);
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
  void receive(const std::string& bytes, connection_id at = socket_1) {
    desk.received(at, bytes, now);
    look();
  }
  void give(std::size_t credits) {
    desk.credits_given(credits, now);
    look();
  }
  std::size_t count(kind what) const {
    return static_cast<std::size_t>(std::ranges::count(orders, what, &desk_order::what));
  }
  const desk_order& last(kind what) const {
    const auto at =
        std::find_if(orders.rbegin(), orders.rend(), [&](const auto& o) { return o.what == what; });
    BOOST_REQUIRE(at != orders.rend());
    return *at;
  }
  void answer(answer_piece piece) {
    desk.answer({&piece, 1}, now);
    look();
  }
  bool holds(std::string_view part, connection_id at = socket_1) const {
    return sent[at.value].find(part) != std::string::npos;
  }
};

std::string chat(std::string_view fields = "") {
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
         std::string{fields} + "Content-Length: 2\r\n\r\n{}";
}

/// Aborts the request named "mine".
std::string abort_it(std::string_view fields = "") {
  return "DELETE /v1/chat/completions/mine HTTP/1.1\r\nHost: x\r\n" + std::string{fields} + "\r\n";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(front_desk_control_test)

BOOST_AUTO_TEST_CASE(a_request_without_a_credit_waits_until_the_pool_has_answered) {
  counter c{leased(64)};
  c.receive(chat());
  BOOST_TEST(c.count(kind::prepare) == 0u);
  BOOST_TEST(c.last(kind::want_credits).credits == 1u);
  c.receive(chat(), socket_2);
  BOOST_TEST(c.count(kind::want_credits) == 1u);  // one question at a time
  c.give(1);
  BOOST_TEST(c.count(kind::prepare) == 1u);
  BOOST_TEST(c.count(kind::want_credits) == 2u);  // for the one that came later
  c.give(0);
  BOOST_TEST(c.holds("429", socket_2));
  BOOST_TEST(c.holds("queue_full", socket_2));
}

BOOST_AUTO_TEST_CASE(in_a_flood_one_request_asks_and_the_others_are_refused_at_once) {
  counter c{leased(64)};
  c.receive(chat());
  c.give(0);
  c.receive(chat(), socket_2);
  BOOST_TEST(!c.holds("429", socket_2));  // it asks anew ...
  c.desk.opened(socket_3, c.now);
  c.receive(chat(), socket_3);
  BOOST_TEST(c.holds("queue_full", socket_3));  // ... and for this one, too
  BOOST_TEST(c.count(kind::want_credits) == 2u);
  c.give(1);
  BOOST_TEST(c.count(kind::prepare) == 1u);
}

BOOST_AUTO_TEST_CASE(what_the_pool_said_long_ago_refuses_nobody) {
  counter c{leased(64)};
  c.receive(chat());
  c.give(0);
  c.now = c.now + seconds{1};
  c.receive(chat());
  c.receive(chat(), socket_2);
  BOOST_TEST(!c.holds("429", socket_2));
  c.give(2);
  BOOST_TEST(c.count(kind::prepare) == 2u);
}

BOOST_AUTO_TEST_CASE(while_credits_are_idle_nobody_is_asked) {
  counter c{leased(64)};
  c.receive(chat());
  c.give(3);
  c.receive(chat(), socket_2);
  BOOST_TEST(c.count(kind::prepare) == 2u);
  BOOST_TEST(c.count(kind::want_credits) == 1u);
}

BOOST_AUTO_TEST_CASE(recalled_credits_go_back_and_so_do_those_that_become_free) {
  counter c{leased(64)};
  c.receive(chat());
  c.give(3);
  const auto request = c.last(kind::prepare).request;
  c.desk.credits_recalled();
  c.look();
  BOOST_TEST(c.last(kind::answer_recall).credits == 2u);
  c.answer({.request = request, .bytes = "{}", .last = true});
  BOOST_TEST(c.last(kind::return_credits).credits == 1u);
  BOOST_TEST(c.desk.credits_left() == 0u);
}

BOOST_AUTO_TEST_CASE(a_client_that_leaves_at_the_gate_uses_no_credit) {
  counter c{leased(64)};
  c.receive(chat());
  c.desk.lost(socket_1, c.now);
  c.give(1);
  BOOST_TEST(c.count(kind::prepare) == 0u);
  BOOST_TEST(c.desk.credits_left() + c.count(kind::return_credits) == 1u);
}

BOOST_AUTO_TEST_CASE(a_server_that_drains_meanwhile_opens_no_gate) {
  counter c{leased(64)};
  c.receive(chat());
  c.desk.drain(c.now);
  c.give(1);
  BOOST_TEST(c.count(kind::prepare) == 0u);
  BOOST_TEST(c.holds("draining"));
}

BOOST_AUTO_TEST_CASE(an_abort_cancels_and_is_repeated_when_the_engine_knows_the_request) {
  counter c{{}};
  c.receive(chat("x-request-id: mine\r\n"));
  const auto request = c.last(kind::prepare).request;
  c.receive(abort_it(), socket_2);
  BOOST_TEST(c.holds("202", socket_2));
  BOOST_TEST(c.holds("\"mine\"", socket_2));
  BOOST_TEST(c.last(kind::cancel).request.value == request.value);
  BOOST_TEST((c.last(kind::cancel).reason == cancel_reason::abort));
  BOOST_TEST(c.last(kind::abort).label == "mine");  // other frontends are told
  c.answer({.request = request});                   // admitted behind the cancel
  BOOST_TEST(c.count(kind::cancel) == 2u);
  c.desk.refuse(request, {error_kind::bad_request, "aborted", "", "Aborted."}, c.now);
  c.look();
  BOOST_TEST(c.holds("HTTP/1.1 499"));
  BOOST_TEST(c.desk.open_requests() == 0u);
}

BOOST_AUTO_TEST_CASE(an_abort_names_only_requests_of_its_own_key) {
  counter c{{.api_keys = {"one", "two"}}};
  c.receive(chat("x-request-id: mine\r\nAuthorization: Bearer one\r\n"));
  BOOST_TEST(c.last(kind::prepare).fairness_key == "key 1");
  c.receive(abort_it("Authorization: Bearer two\r\n"), socket_2);
  BOOST_TEST(c.count(kind::cancel) == 0u);
  c.receive(abort_it(), socket_2);
  BOOST_TEST(c.holds("401", socket_2));
  c.receive(abort_it("Authorization: Bearer one\r\n"), socket_2);
  BOOST_TEST(c.count(kind::cancel) == 1u);
}

BOOST_AUTO_TEST_CASE(a_request_past_its_time_is_cancelled_whatever_its_state) {
  desk_config config;
  config.bounds.request_timeout_ms = 5000;
  counter c{config};
  c.receive(chat());
  c.now = c.now + seconds{4};
  c.desk.tick(c.now);
  c.look();
  BOOST_TEST(c.count(kind::cancel) == 0u);
  c.now = c.now + seconds{1};
  c.desk.tick(c.now);
  c.desk.tick(c.now);
  c.look();
  BOOST_TEST(c.count(kind::cancel) == 1u);
  BOOST_TEST((c.last(kind::cancel).reason == cancel_reason::deadline));
}

BOOST_AUTO_TEST_CASE(new_keys_hold_from_the_next_request_on) {
  counter c{{.api_keys = {"old"}}};
  c.receive(chat("Authorization: Bearer old\r\n"));
  c.desk.change_rules({.bounds = {}, .api_keys = {"new"}});
  BOOST_TEST(c.count(kind::prepare) == 1u);
  c.receive(chat("Authorization: Bearer old\r\n"), socket_2);
  BOOST_TEST(c.holds("401", socket_2));
  c.answer({.request = c.last(kind::prepare).request, .bytes = "{}", .last = true});
  BOOST_TEST(c.holds("200 OK"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
