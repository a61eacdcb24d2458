#include "protocol/http_connection.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/protocol/http_peer.hpp"

namespace glimmer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const http_connection_options half_close{.half_close_ok = true};

}  // namespace

BOOST_AUTO_TEST_SUITE(http_connection_cases)

BOOST_AUTO_TEST_CASE(one_connection_serves_request_after_request) {
  http_peer peer;
  peer.feed(post_request("first"));
  BOOST_TEST(peer.told == "gate1 request1 ");
  BOOST_TEST(peer.bodies.back() == "first");
  BOOST_TEST(peer.connection.head().path() == "/v1/chat/completions");
  BOOST_TEST(peer.answer("1"));
  peer.feed(post_request("second"));
  BOOST_TEST(peer.bodies.back() == "second");
  BOOST_TEST(peer.answer("22"));
  BOOST_TEST(peer.wire == answer_text("1") + answer_text("22"));
  BOOST_TEST(peer.told == "gate1 request1 gate2 request2 ");
}

BOOST_AUTO_TEST_CASE(requests_cut_at_every_point_are_served_alike) {
  const auto text = post_request("first") + get_request + post_request("third");
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    http_peer peer;
    const auto serve = [&](std::string_view piece) {
      peer.feed(piece);
      while (peer.has_request) peer.answer("ok");
    };
    serve(std::string_view{text}.substr(0, cut));
    serve(std::string_view{text}.substr(cut));
    BOOST_TEST(peer.told == "gate1 request1 gate2 request2 gate3 request3 ", "cut at " << cut);
    BOOST_TEST(peer.wire == answer_text("ok") + answer_text("ok") + answer_text("ok"));
  }
}

BOOST_AUTO_TEST_CASE(pipelined_requests_wait_and_are_answered_in_order) {
  limits bounds;
  bounds.http_read_ahead_bytes = 90;
  http_peer peer{bounds};
  peer.feed(get_request + get_request);
  BOOST_TEST(peer.told == "gate1 request1 ");
  BOOST_TEST(peer.connection.wants_read());
  peer.feed(get_request + get_request);
  BOOST_TEST(!peer.connection.wants_read());
  for (const auto body : {"a", "b", "c", "d"}) BOOST_TEST(peer.answer(body));
  BOOST_TEST(!peer.answer("e"));
  BOOST_TEST(peer.connection.wants_read());
  BOOST_TEST(peer.wire ==
             answer_text("a") + answer_text("b") + answer_text("c") + answer_text("d"));
}

BOOST_AUTO_TEST_CASE(head_gets_the_head_alone) {
  http_peer peer;
  peer.feed("HEAD /health HTTP/1.1\r\nHost: h\r\n\r\n" + get_request);
  peer.answer("body");
  peer.answer("body");
  BOOST_TEST(peer.wire == "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n" + answer_text("body"));
}

// ---- gate 1 and unread bodies ------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_waiting_client_hears_100_continue_only_after_the_gate) {
  http_peer peer;
  peer.at_gate = http_peer::gate::hold;
  const auto text = post_request("body", "Expect: 100-continue\r\n");
  peer.feed(text.substr(0, text.size() - 4));
  BOOST_TEST(peer.told == "gate1 ");
  BOOST_TEST(peer.wire.empty());
  peer.connection.accept(peer.connection.current(), peer.now);
  peer.obey();
  BOOST_TEST(peer.wire == http_continue);
  peer.feed("body");
  BOOST_TEST(peer.told == "gate1 request1 ");
  BOOST_TEST(peer.bodies.back() == "body");
}

BOOST_AUTO_TEST_CASE(a_waiting_client_that_is_turned_away_hears_no_100) {
  http_peer peer;
  peer.at_gate = http_peer::gate::hold;
  peer.feed("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
  peer.answer("no", 429);
  BOOST_TEST(peer.wire ==
             "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno");
  BOOST_TEST(peer.told == "gate1 shut ");
}

BOOST_AUTO_TEST_CASE(a_short_unwanted_body_is_read_over_and_the_connection_stays) {
  http_peer peer;
  peer.at_gate = http_peer::gate::hold;
  const auto text = post_request("unwanted");
  peer.feed(text.substr(0, text.size() - 3));
  peer.answer("no");
  peer.feed(text.substr(text.size() - 3) + get_request);
  peer.answer("yes");
  BOOST_TEST(peer.told == "gate1 gate2 ");
  BOOST_TEST(peer.wire == answer_text("no") + answer_text("yes"));
  BOOST_TEST(peer.bodies.empty());
}

BOOST_AUTO_TEST_CASE(a_long_unwanted_body_ends_the_connection_within_a_limit) {
  limits bounds;
  bounds.http_discard_bytes = 100;
  http_peer peer{bounds};
  peer.at_gate = http_peer::gate::hold;
  peer.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
  peer.answer("no");
  BOOST_TEST(peer.wire == answer_text("no", false));
  peer.feed(std::string(100, 'x'));
  BOOST_TEST(peer.told == "gate1 shut ");
  peer.feed("x");
  BOOST_TEST(peer.told == "gate1 shut close ");
}

BOOST_AUTO_TEST_CASE(a_body_over_the_limit_is_refused_before_or_while_it_is_read) {
  limits bounds;
  bounds.http_body_bytes = 10;
  http_peer declared{bounds};
  declared.feed(post_request("01234567890"));
  BOOST_TEST(declared.told == "refuse1(413) ");
  declared.answer("too long", 413);
  BOOST_TEST(declared.told == "refuse1(413) shut ");

  http_peer chunked{bounds};
  chunked.feed("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n");
  BOOST_TEST(chunked.told == "gate1 ");
  chunked.feed("6\r\n");
  BOOST_TEST(chunked.told == "gate1 refuse1(413) ");
  BOOST_TEST(chunked.answer("too long", 413));
  BOOST_TEST(chunked.wire.find("connection: close") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(garbage_is_answered_once_and_the_connection_ends) {
  http_peer peer;
  peer.feed("\x16\x03\x01 garbage");
  BOOST_TEST(peer.told == "refuse1(400) ");
  peer.feed(get_request);
  peer.answer("bad", 400);
  BOOST_TEST(peer.told == "refuse1(400) shut ");
  peer.feed("more");
  peer.connection.flushed(peer.now);
  peer.end_input();
  BOOST_TEST(peer.told == "refuse1(400) shut close ");
}

// ---- streams -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_stream_is_chunked_and_the_connection_stays) {
  http_peer peer;
  peer.feed(post_request("{}"));
  const auto id = peer.connection.current();
  BOOST_TEST(peer.connection.start_stream(id, {.content_type = ""}));
  BOOST_TEST(peer.connection.streaming(id));
  BOOST_TEST(peer.connection.stream(id, "abc"));
  BOOST_TEST(peer.connection.stream(id, ""));
  BOOST_TEST(peer.connection.end_stream(id, peer.now));
  BOOST_TEST(!peer.connection.stream(id, "late"));
  peer.obey();
  BOOST_TEST(peer.wire ==
             "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  peer.feed(get_request);
  BOOST_TEST(peer.told == "gate1 request1 gate2 request2 ");
}

BOOST_AUTO_TEST_CASE(the_old_version_streams_until_the_connection_ends) {
  http_peer peer;
  peer.feed("POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}");
  const auto id = peer.connection.current();
  peer.connection.start_stream(id, {.content_type = ""});
  peer.connection.stream(id, "abc");
  peer.connection.end_stream(id, peer.now);
  peer.obey();
  BOOST_TEST(peer.wire == "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc");
  BOOST_TEST(peer.told == "gate1 request1 shut ");
}

BOOST_AUTO_TEST_CASE(a_broken_off_stream_has_no_last_chunk) {
  http_peer peer;
  peer.feed(post_request("{}"));
  const auto id = peer.connection.current();
  peer.connection.start_stream(id, {.content_type = ""});
  peer.connection.break_off(id);
  peer.obey();
  BOOST_TEST(peer.told == "gate1 request1 close ");
  BOOST_TEST(!peer.wire.ends_with("0\r\n\r\n"));
}

// ---- clients that leave ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_client_that_ends_while_it_waits_is_cancelled) {
  http_peer unary;
  unary.feed(post_request("{}"));
  unary.end_input();
  BOOST_TEST(unary.told == "gate1 request1 cancel1 close ");
  BOOST_TEST(!unary.answer("late"));

  http_peer stream;
  stream.feed(post_request("{}"));
  const auto id = stream.connection.current();
  stream.connection.start_stream(id, {});
  stream.connection.lost();
  stream.obey();
  BOOST_TEST(stream.told == "gate1 request1 cancel1 close ");
  BOOST_TEST(!stream.connection.stream(id, "late"));
  BOOST_TEST(!stream.connection.end_stream(id, stream.now));

  http_peer upload;
  upload.feed(post_request("whole").substr(0, 100));
  upload.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf");
  upload.end_input();
  BOOST_TEST(upload.told.ends_with("cancel1 close "));
}

BOOST_AUTO_TEST_CASE(a_half_closed_client_is_served_where_that_is_allowed) {
  http_peer peer{{}, half_close};
  peer.feed(get_request + get_request + "GET /hal");
  peer.end_input();
  BOOST_TEST(peer.answer("a"));
  BOOST_TEST(peer.answer("b"));
  BOOST_TEST(peer.told == "gate1 request1 gate2 request2 shut ");
  peer.connection.flushed(peer.now);
  peer.obey();
  BOOST_TEST(peer.told == "gate1 request1 gate2 request2 shut close ");
  BOOST_TEST(peer.wire == answer_text("a") + answer_text("b"));

  http_peer single{{}, half_close};
  single.feed(get_request);
  single.end_input();
  single.answer("a");
  BOOST_TEST(single.wire == answer_text("a", false));
  BOOST_TEST(single.told == "gate1 request1 shut ");
}

BOOST_AUTO_TEST_CASE(a_half_closed_client_whose_body_will_never_be_whole_is_cancelled) {
  http_peer peer{{}, half_close};
  peer.at_gate = http_peer::gate::hold;
  peer.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf");
  peer.end_input();
  BOOST_TEST(peer.told == "gate1 ");
  peer.connection.accept(peer.connection.current(), peer.now);
  peer.obey();
  BOOST_TEST(peer.told == "gate1 cancel1 close ");
}

BOOST_AUTO_TEST_CASE(an_end_between_requests_closes_after_the_last_byte_is_out) {
  http_peer peer;
  peer.feed(get_request);
  peer.answer("a");
  peer.end_input();
  BOOST_TEST(peer.told == "gate1 request1 shut ");
  peer.connection.flushed(peer.now);
  peer.obey();
  BOOST_TEST(peer.told == "gate1 request1 shut close ");
}

// ---- time --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_slow_header_is_refused) {
  http_peer peer;
  for (int i = 0; i < 20 && peer.told.empty(); ++i) {
    peer.feed("a");
    peer.pass(seconds{1});
  }
  BOOST_TEST(peer.told == "refuse1(408) ");
  BOOST_TEST(peer.now.since_origin.count() == 10'000'000'000);
  peer.answer("slow", 408);
  peer.pass(seconds{75});
  BOOST_TEST(peer.told == "refuse1(408) shut close ");
}

BOOST_AUTO_TEST_CASE(a_stalled_and_a_dripping_body_are_refused) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n";
  http_peer stalled;
  stalled.feed(head + "x");
  stalled.pass(milliseconds{59'999});
  BOOST_TEST(stalled.told == "gate1 ");
  stalled.pass(milliseconds{1});
  BOOST_TEST(stalled.told == "gate1 refuse1(408) ");

  http_peer dripping;
  dripping.feed(head);
  int drops = 0;
  for (; drops < 1000 && dripping.told == "gate1 "; ++drops) {
    dripping.feed("x");
    dripping.pass(seconds{1});
  }
  BOOST_TEST(drops == 60);
  BOOST_TEST(dripping.told == "gate1 refuse1(408) ");
}

BOOST_AUTO_TEST_CASE(an_idle_connection_is_closed_and_a_working_one_is_not) {
  http_peer idle;
  idle.pass(milliseconds{74'999});
  BOOST_TEST(idle.told.empty());
  idle.pass(milliseconds{1});
  BOOST_TEST(idle.told == "close ");

  http_peer working;
  working.feed(get_request);
  working.pass(std::chrono::hours{1});
  BOOST_TEST(working.told == "gate1 request1 ");
  BOOST_TEST(working.answer("at last"));
  BOOST_TEST(working.connection.deadline().has_value());
}

BOOST_AUTO_TEST_CASE(a_peer_that_never_ends_is_not_waited_for_long) {
  http_peer peer;
  peer.feed("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  peer.answer("a");
  peer.connection.flushed(peer.now);
  peer.pass(milliseconds{4'999});
  BOOST_TEST(peer.told == "gate1 request1 shut ");
  peer.pass(milliseconds{1});
  BOOST_TEST(peer.told == "gate1 request1 shut close ");
}

BOOST_AUTO_TEST_CASE(a_connection_for_one_request_ends_behind_its_answer) {
  http_peer peer{{}, {.one_request = true}};
  peer.feed(get_request + get_request);
  BOOST_TEST(peer.answer("a"));
  BOOST_TEST(peer.wire == answer_text("a", false));
  BOOST_TEST(peer.told == "gate1 request1 shut ");
}

BOOST_AUTO_TEST_CASE(draining_lets_the_request_in_work_finish_and_nothing_follow) {
  http_peer idle;
  idle.feed(get_request);
  idle.answer("a");
  idle.connection.drain(idle.now);
  idle.obey();
  BOOST_TEST(idle.told == "gate1 request1 shut ");

  http_peer working;
  working.feed(get_request + get_request);
  working.connection.drain(working.now);
  working.answer("a");
  BOOST_TEST(working.wire == answer_text("a", false));
  BOOST_TEST(working.told == "gate1 request1 shut ");

  http_peer streaming;
  streaming.feed(get_request);
  const auto id = streaming.connection.current();
  streaming.connection.start_stream(id, {});
  streaming.connection.drain(streaming.now);
  streaming.connection.end_stream(id, streaming.now);
  streaming.obey();
  BOOST_TEST(streaming.told == "gate1 request1 shut ");
}

BOOST_AUTO_TEST_CASE(a_request_that_crosses_the_drain_on_a_fresh_connection_is_answered) {
  http_peer fresh;
  fresh.connection.drain(fresh.now);
  fresh.obey();
  fresh.feed(get_request + get_request);
  fresh.answer("a");
  BOOST_TEST(fresh.wire == answer_text("a", false));
  BOOST_TEST(fresh.told == "gate1 request1 shut ");

  http_peer silent;
  silent.connection.drain(silent.now);
  silent.pass(std::chrono::milliseconds(limits{}.idle_timeout_ms));
  BOOST_TEST(silent.told == "close ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
