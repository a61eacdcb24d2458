#include "protocol/http_parser.hpp"

#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/protocol/http_script.hpp"

namespace glimmer {
namespace {

const std::string host = "Host: a\r\n";

/// A request whose header fields, beside Host, are the given lines.
std::string post_with(std::string_view fields) {
  return "POST /v1/chat/completions HTTP/1.1\r\n" + host + std::string{fields} + "\r\n";
}

const std::vector<std::string> good_requests = {
    "GET /health HTTP/1.1\r\nHost: localhost:8000\r\n\r\n",
    "GET /health HTTP/1.0\r\n\r\n",
    "\r\nGET / HTTP/1.1\r\nhost:\r\n\r\n",
    post_with("Content-Length: 5\r\nX-Empty:\r\nX-Blank: \t a b \t\r\n") + "hello",
    post_with("content-length: 0\r\n"),
    post_with("Transfer-Encoding: Chunked\r\n") +
        "5\r\nhello\r\n006;name=\"v\"\r\n world\r\n0\r\nX-Trailer: t\r\n\r\n",
    post_with("Transfer-Encoding: chunked\r\n") + "0\r\n\r\n",
    post_with("Content-Length: 2\r\n") + "{}" + post_with("Content-Length: 3\r\n") + "abc",
};

}  // namespace

BOOST_AUTO_TEST_SUITE(http_parser_cases)

BOOST_AUTO_TEST_CASE(a_request_is_read_with_its_fields_and_body) {
  const auto text =
      "POST /v1/chat/completions?a=1 HTTP/1.1\r\nHost: h:80\r\nAuthorization:  Bearer k\r\n"
      "CONTENT-LENGTH: 4\r\n\r\nbody";
  http_parser parser{limits{}};
  std::string_view bytes = text;
  BOOST_TEST((parser.next(bytes) == http_event::head));
  const auto& head = parser.head();
  BOOST_TEST(head.method() == "POST");
  BOOST_TEST(head.target() == "/v1/chat/completions?a=1");
  BOOST_TEST(head.path() == "/v1/chat/completions");
  BOOST_TEST(head.query() == "a=1");
  BOOST_TEST(head.minor_version() == 1);
  BOOST_TEST(head.find("authorization").value() == "Bearer k");
  BOOST_TEST(!head.find("cookie").has_value());
  BOOST_TEST(head.content_length() == 4u);
  BOOST_TEST(head.keep_alive());
  BOOST_TEST((parser.next(bytes) == http_event::body));
  BOOST_TEST(parser.data() == "body");
  BOOST_TEST((parser.next(bytes) == http_event::complete));
}

BOOST_AUTO_TEST_CASE(chunked_bodies_are_joined_and_trailers_read_over) {
  BOOST_TEST(parse_whole(good_requests[5]).bodies == "hello world|");
  BOOST_TEST(parse_whole(good_requests[5]).events == "head complete ");
}

BOOST_AUTO_TEST_CASE(a_request_cut_at_every_point_reads_the_same) {
  for (const auto& text : good_requests) {
    const auto whole = parse_whole(text);
    BOOST_TEST(whole.events.ends_with("complete "), text);
    const auto by_bytes = parse_in_pieces(text, {}, [](std::size_t) { return 1; });
    BOOST_TEST((by_bytes == whole), text);
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      std::size_t size = cut;
      const auto halves =
          parse_in_pieces(text, {}, [&](std::size_t left) { return std::exchange(size, left); });
      BOOST_TEST((halves == whole), text << " cut at " << cut);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_two_readers_could_read_differently_is_refused) {
  const std::vector<std::pair<std::string, int>> cases = {
      {post_with("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"), 400},
      {post_with("Content-Length: 4\r\nContent-Length: 4\r\n"), 400},
      {post_with("Content-Length: 4, 4\r\n"), 400},
      {post_with("Content-Length: +4\r\n"), 400},
      {post_with("Content-Length: -4\r\n"), 400},
      {post_with("Content-Length: 0x4\r\n"), 400},
      {post_with("Content-Length:\r\n"), 400},
      {post_with("Content-Length: 18446744073709551616\r\n"), 400},
      {post_with("Content-Length: 99999999999\r\n"), 413},
      {post_with("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {post_with("Transfer-Encoding: xchunked\r\n"), 501},
      {post_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {post_with("Transfer-Encoding : chunked\r\n"), 400},
      {post_with("Bad Name: x\r\n"), 400},
      {post_with(": x\r\n"), 400},
      {post_with("no colon\r\n"), 400},
      {post_with("X-A: 1\r\n folded\r\n"), 400},
      {post_with("X-A: 1\rX-B: 2\r\n"), 400},
      {post_with("X-A: 1\nX-B: 2\r\n"), 400},
      {post_with(std::string{"X-A: \0\r\n", 8}), 400},
      {post_with("Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"), 400},
      {post_with("Host: b\r\n"), 400},
      {post_with("Content-Encoding: gzip\r\n"), 415},
      {post_with("Expect: 200-ok\r\n"), 417},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a/../b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: user@a\r\n\r\n", 400},
      {"GET /\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"GET  / HTTP/1.1\r\n" + host + "\r\n", 400},
      {" GET / HTTP/1.1\r\n" + host + "\r\n", 400},
      {"G(T / HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /a b HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET / HTTP/1.1\n" + host + "\n", 400},
      {"\x16\x03\x01\x02", 400},
      {post_with("Transfer-Encoding: chunked\r\n") + "5 \r\nhello\r\n", 400},
      {post_with("Transfer-Encoding: chunked\r\n") + " 5\r\nhello\r\n", 400},
      {post_with("Transfer-Encoding: chunked\r\n") + "0x5\r\nhello\r\n", 400},
      {post_with("Transfer-Encoding: chunked\r\n") + "-5\r\nhello\r\n", 400},
      {post_with("Transfer-Encoding: chunked\r\n") + "\r\n", 400},
      {post_with("Transfer-Encoding: chunked\r\n") + "5\nhello\r\n", 400},
      {post_with("Transfer-Encoding: chunked\r\n") + "5\r\nhelloX\r\n", 400},
      {post_with("Transfer-Encoding: chunked\r\n") + "5\r\nhello\n0\r\n\r\n", 400},
      {post_with("Transfer-Encoding: chunked\r\n") + "ffffffffffffffffff\r\n", 400},
      {post_with("Transfer-Encoding: chunked\r\n") + "ffffffffffffffff\r\n", 413},
      {post_with("Transfer-Encoding: chunked\r\n") + "1;" + std::string(300, 'x') + "\r\n", 400},
  };
  for (const auto& [text, status] : cases) {
    const auto expected = "refused(" + std::to_string(status) + ")";
    BOOST_TEST(parse_whole(text).events.ends_with(expected),
               text << " gave " << parse_whole(text).events);
    const auto by_bytes = parse_in_pieces(text, {}, [](std::size_t) { return 1; });
    BOOST_TEST(by_bytes.events.ends_with(expected), text << " byte by byte");
  }
}

BOOST_AUTO_TEST_CASE(floods_end_at_the_limits) {
  limits bounds;
  bounds.http_header_bytes = 1000;
  bounds.http_header_fields = 3;
  bounds.http_body_bytes = 10;
  const auto events = [&](const std::string& text) { return parse_whole(text, bounds).events; };
  BOOST_TEST(events("GET /" + std::string(2000, 'a')) == "refused(414)");
  BOOST_TEST(events(post_with("X: " + std::string(2000, 'a'))) == "refused(431)");
  BOOST_TEST(events(post_with("A: 1\r\nB: 2\r\n")) == "head complete ");
  BOOST_TEST(events(post_with("A: 1\r\nB: 2\r\nC: 3\r\n")) == "refused(431)");
  BOOST_TEST(events(post_with("Content-Length: 11\r\n")) == "refused(413)");
  const auto chunked = post_with("Transfer-Encoding: chunked\r\n");
  BOOST_TEST(events(chunked + "a\r\n0123456789\r\n0\r\n\r\n") == "head complete ");
  BOOST_TEST(events(chunked + "a\r\n0123456789\r\n1\r\n") == "head refused(413)");
  std::string trailer = chunked + "0\r\n";
  for (int i = 0; i < 200; ++i) trailer += "X-Long: 1\r\n";
  BOOST_TEST(events(trailer) == "head refused(431)");
}

BOOST_AUTO_TEST_CASE(connection_wishes_are_understood) {
  const auto keeps = [](const std::string& text) {
    http_parser parser{limits{}};
    std::string_view bytes = text;
    BOOST_REQUIRE((parser.next(bytes) == http_event::head));
    return parser.head().keep_alive();
  };
  BOOST_TEST(keeps(post_with("")));
  BOOST_TEST(!keeps(post_with("Connection: Close\r\n")));
  BOOST_TEST(!keeps(post_with("Connection: keep-alive, close\r\n")));
  BOOST_TEST(!keeps("GET / HTTP/1.0\r\n\r\n"));
  BOOST_TEST(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

BOOST_AUTO_TEST_CASE(random_damage_never_breaks_the_parser_and_no_cut_changes_the_verdict) {
  const auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>{0, n - 1}(random);
  };
  constexpr char spice_text[] = "\r\n\0 :;,\t%/.0123456789abcdefHTP\x7f\xff";
  const std::string spice{spice_text, sizeof spice_text - 1};
  for (int round = 0; round < 3000; ++round) {
    auto text = good_requests[below(good_requests.size())];
    for (auto damage = below(4); damage > 0; --damage) {
      const auto at = below(text.size());
      switch (below(3)) {
        case 0: text[at] = spice[below(spice.size())]; break;
        case 1: text.insert(at, 1, spice[below(spice.size())]); break;
        default: text.erase(at, 1);
      }
    }
    const auto whole = parse_whole(text);
    const auto pieces =
        parse_in_pieces(text, {}, [&](std::size_t left) { return 1 + below(left); });
    const bool refused = whole.events.find("refused") != std::string::npos;
    BOOST_TEST((pieces.events.find("refused") != std::string::npos) == refused,
               "seed " << seed << " round " << round << ": " << text);
    if (!refused) BOOST_TEST((pieces == whole), "seed " << seed << " round " << round);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
