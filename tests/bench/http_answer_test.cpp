#include "bench/program/http_answer.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {
namespace {

using state = http_answer::state;
using lines = std::vector<std::string>;

const std::string chunked =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    "8\r\ndata: a\n\r\nA\r\n\ndata: b\r\n\r\n3\r\n\nxy\r\n0\r\n\r\n";
const std::string sized = "HTTP/1.0 404 Not Found\r\nCONTENT-LENGTH:  7 \r\n\r\nno\nsuch";
const std::string unsized = "HTTP/1.1 200 OK\r\n\r\nfirst\nlast";

struct heard {
  lines all;
  state end = state::head;
  int status = 0;
};

/// Everything in two pieces, then the peer closes.
heard hear(const std::string& text, std::size_t cut) {
  http_answer answer;
  heard out;
  const auto add = [&](const lines& more) {
    out.all.insert(out.all.end(), more.begin(), more.end());
  };
  add(answer.push(text.substr(0, cut)));
  add(answer.push(text.substr(cut)));
  add(answer.close());
  out.end = answer.now();
  out.status = answer.status();
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(http_answer_test)

BOOST_AUTO_TEST_CASE(every_framing_gives_its_lines_wherever_the_bytes_are_cut) {
  const std::pair<std::string, lines> cases[] = {
      {chunked, {"data: a", "", "data: b", "", "xy"}},
      {sized, {"no", "such"}},
      {unsized, {"first", "last"}},
  };
  for (const auto& [text, expected] : cases) {
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      const auto got = hear(text, cut);
      BOOST_TEST(got.all == expected, boost::test_tools::per_element());
      BOOST_TEST((got.end == state::done));
      BOOST_TEST(got.status == (text == sized ? 404 : 200));
    }
  }
}

BOOST_AUTO_TEST_CASE(lines_come_as_soon_as_they_are_whole) {
  http_answer answer;
  const auto first = answer.push(chunked.substr(0, chunked.find("A\r\n")));
  BOOST_TEST(first == lines{"data: a"}, boost::test_tools::per_element());
  BOOST_TEST((answer.now() == state::body));
}

BOOST_AUTO_TEST_CASE(an_answer_cut_short_or_not_http_is_broken) {
  for (const auto* text :
       {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "HTTP/1.1 200", "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"})
    BOOST_TEST((hear(text, 5).end == state::broken), text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
