#include "engine/local_desk.hpp"

#include <boost/test/unit_test.hpp>
#include <map>

#include "base/random.hpp"

namespace glimmer {
namespace {

constexpr client_ticket ticket_1{1};

/// A desk that serves, and what its sinks got.
struct counter_top {
  local_desk desk;
  std::map<std::uint64_t, std::vector<answer_part>> got;  // by ticket

  explicit counter_top(local_desk::config setup = {}) : desk{setup} {
    desk.state_changed({.phase = engine_phase::serving});
  }
  std::optional<request_id> open(client_ticket ticket) {
    return desk.open(
        ticket, [this, ticket](const answer_part& part) { got[ticket.value].push_back(part); });
  }
  void answer(answer_piece piece) { desk.answer({&piece, 1}); }
  std::size_t ends(std::uint64_t ticket) {
    return static_cast<std::size_t>(
        std::ranges::count(got[ticket], true, [](const auto& p) { return p.last; }));
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(local_desk_test)

BOOST_AUTO_TEST_CASE(an_engine_that_loads_or_drains_takes_no_request) {
  counter_top c;
  c.desk = local_desk{};
  BOOST_TEST(!c.open(ticket_1));
  BOOST_TEST(c.got[1].front().status == 503);
  BOOST_TEST(c.got[1].front().last);
  c.desk.state_changed({.phase = engine_phase::serving});
  BOOST_TEST(c.open({2}).has_value());
  c.desk.drain();
  BOOST_TEST(!c.open({3}));
  BOOST_TEST(c.ends(3) == 1u);
  BOOST_TEST(c.desk.open_requests() == 1u);
}

BOOST_AUTO_TEST_CASE(request_ids_are_dealt_in_strides) {
  counter_top c{{.first_request = 5, .request_stride = 3}};
  BOOST_TEST((*c.open({1}) == request_id{5}));
  BOOST_TEST((*c.open({2}) == request_id{8}));
}

BOOST_AUTO_TEST_CASE(one_request_too_many_is_refused_until_another_ends) {
  counter_top c{{.requests_max = 1}};
  const auto first = c.open({1});
  BOOST_TEST(!c.open({2}));
  BOOST_TEST(c.got[2].front().status == 429);
  c.answer({.request = *first, .last = true});
  BOOST_TEST(c.open({3}).has_value());
}

BOOST_AUTO_TEST_CASE(pieces_are_parts_and_their_tokens_go_back_to_the_window) {
  counter_top c;
  const auto request = c.open(ticket_1);
  c.answer({.request = *request, .bytes = "a", .stands_for = {{sequence_id{9}, 2}}});
  c.answer({.request = *request, .bytes = "b", .last = true});
  BOOST_REQUIRE(c.got[1].size() == 2u);
  BOOST_TEST(c.got[1][0].bytes + c.got[1][1].bytes == "ab");
  BOOST_TEST(c.ends(1) == 1u);
  const auto windows = c.desk.take_windows();
  BOOST_REQUIRE(windows.size() == 1u);
  BOOST_TEST(windows.front().tokens == 2u);
}

BOOST_AUTO_TEST_CASE(a_cancelled_sink_gets_no_more_bytes_but_its_end) {
  counter_top c;
  const auto request = c.open(ticket_1);
  c.desk.cancel(ticket_1);
  BOOST_TEST(c.desk.take_cancels().size() == 1u);
  c.answer({.request = *request, .bytes = "a"});
  BOOST_TEST(c.got[1].empty());
  BOOST_TEST(c.desk.take_cancels().size() == 1u);  // the first may have come too early
  c.answer({.request = *request, .bytes = "b", .last = true});
  BOOST_TEST(c.got[1].size() == 1u);
  BOOST_TEST(c.got[1].front().bytes == "");
  c.desk.cancel(ticket_1);
  c.desk.cancel({77});
  BOOST_TEST(c.desk.take_cancels().empty());
}

BOOST_AUTO_TEST_CASE(a_refusal_is_the_last_part) {
  counter_top c;
  const auto request = c.open(ticket_1);
  c.desk.refuse(*request, bad_value("n", "n is 0"));
  c.desk.refuse(*request, bad_value("n", "again"));
  c.answer({.request = *request, .bytes = "late", .last = true});
  BOOST_REQUIRE(c.got[1].size() == 1u);
  BOOST_TEST(c.got[1].front().status == 400);
}

BOOST_AUTO_TEST_CASE(a_unary_answer_that_fails_late_has_the_status_of_its_failure) {
  counter_top c;
  const auto request = c.open(ticket_1);
  c.answer({.request = *request});  // admitted: nothing to show yet
  BOOST_TEST(c.got[1].empty());
  c.desk.refuse(*request, {error_kind::device, "", "", "The model could not compute this."});
  BOOST_REQUIRE(c.got[1].size() == 1u);
  BOOST_TEST(c.got[1].front().status >= 500);
}

BOOST_AUTO_TEST_CASE(a_desk_that_closes_ends_every_sink) {
  counter_top c;
  const auto begun = c.open({1});
  c.open({2});
  c.answer({.request = *begun, .bytes = "a"});
  c.desk.close();
  BOOST_TEST(c.got[1].back().status == 200);
  BOOST_TEST(c.got[1].back().bytes == "");
  BOOST_TEST(c.got[2].back().status == 503);
  BOOST_TEST(c.ends(1) + c.ends(2) == 2u);
  BOOST_TEST(!c.open({3}));
}

BOOST_AUTO_TEST_CASE(whatever_happens_each_sink_has_one_end_and_nothing_behind_it) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::uint64_t draws = 0;
      const auto below = [&](std::uint64_t n) {
        return static_cast<std::uint64_t>(uniform_draw({.seed = seed, .position = draws++}) *
                                          static_cast<double>(n));
      };
      counter_top c{{.requests_max = 4}};
      std::uint64_t tickets = 0;
      for (int turn = 0; turn < 300; ++turn) {
        const request_id request{1 + below(tickets + 2)};
        switch (below(6)) {
          case 0: c.open({++tickets}); break;
          case 1: c.desk.cancel({1 + below(tickets + 2)}); break;
          case 2: c.desk.refuse(request, bad_value("x", "x")); break;
          case 3: c.answer({.request = request, .bytes = "z", .last = true}); break;
          default: c.answer({.request = request, .bytes = "a"});
        }
      }
      c.desk.close();
      BOOST_TEST(c.desk.open_requests() == 0u);
      for (std::uint64_t ticket = 1; ticket <= tickets; ++ticket) {
        BOOST_TEST(c.ends(ticket) == 1u);
        BOOST_TEST(c.got[ticket].back().last);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
