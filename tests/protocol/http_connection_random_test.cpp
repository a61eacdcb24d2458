#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <string>

#include "protocol/http_connection.hpp"
#include "tests/protocol/http_peer.hpp"

namespace glimmer {
namespace {

/// An owner that does something else each time, and keeps the books of what it was asked.
class random_owner {
 public:
  random_owner(std::uint32_t seed, bool half_close_ok)
      : random_{seed}, connection_{limits_of_a_test(), {half_close_ok}, now_} {}

  void live(std::string text) {
    for (int turn = 0; turn < 400 && !closed_; ++turn) {
      switch (below(8)) {
        case 0:
        case 1:
        case 2: feed(text); break;
        case 3:
        case 4: work(); break;
        case 5: pass_time(); break;
        case 6: connection_.flushed(now_); break;
        default: rare(); break;
      }
      obey();
    }
    connection_.lost();
    obey();
  }

  /// Every gate that was asked has exactly one end.
  bool books_balance() const {
    for (const auto& [exchange, ends] : ends_) {
      if (ends != 1) return false;
    }
    return closed_;
  }

 private:
  static limits limits_of_a_test() {
    limits bounds;
    bounds.http_body_bytes = 200;
    bounds.http_discard_bytes = 100;
    bounds.http_read_ahead_bytes = 300;
    return bounds;
  }
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>{0, n - 1}(random_);
  }

  void feed(std::string& text) {
    if (input_ended_ || !connection_.wants_read()) return;
    const auto size = std::min(text.size(), below(120) + 1);
    connection_.feed(std::string_view{text}.substr(0, size), now_);
    text.erase(0, size);
  }

  void pass_time() {
    now_ = now_ + std::chrono::milliseconds{below(10) == 0 ? 20'000 : 100};
    connection_.tick(now_);
  }

  void rare() {
    switch (below(12)) {
      case 0:
        input_ended_ = true;
        connection_.input_ended(now_);
        break;
      case 1: connection_.drain(now_); break;
      case 2: connection_.lost(); break;
      default: break;
    }
  }

  void work() {
    const auto id = connection_.current();
    if (connection_.streaming(id)) {
      if (below(3) > 0) {
        connection_.stream(id, "data: x\n\n");
      } else if (connection_.end_stream(id, now_)) {
        end(id);
      }
    } else if (whole_ && below(2) == 0) {
      connection_.start_stream(id, event_stream_response());
    } else if (whole_ && below(8) == 0) {
      connection_.break_off(id);
      end(id);
    } else if (connection_.respond(id, {.status = 200, .body = "{}"}, now_)) {
      end(id);
    }
    if (!connection_.streaming(id)) whole_ = false;
  }

  void end(exchange_id id) {
    if (!refused_) ++ends_[id.value];
    refused_ = false;
    whole_ = false;
  }

  void obey() {
    using kind = http_action::kind;
    while (auto action = connection_.next_action()) {
      BOOST_TEST(!closed_, "nothing comes after close");
      const auto id = action->exchange;
      switch (action->what) {
        case kind::ask_gate:
          BOOST_TEST(ends_.try_emplace(id.value, 0).second, "one gate for an exchange");
          if (below(4) > 0) connection_.accept(id, now_);
          break;
        case kind::request: whole_ = true; break;
        case kind::refuse:
          if (ends_.contains(id.value)) ++ends_[id.value];
          refused_ = true;
          break;
        case kind::cancel: ++ends_.at(id.value); break;
        case kind::shut_down: break;
        case kind::close: closed_ = true; break;
      }
    }
    connection_.clear_output();
  }

  std::mt19937 random_;
  time_point now_;
  http_connection connection_;
  std::map<std::uint64_t, int> ends_;
  bool whole_ = false;
  bool refused_ = false;
  bool input_ended_ = false;
  bool closed_ = false;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(http_connection_random_cases)

BOOST_AUTO_TEST_CASE(every_gate_ends_exactly_once_whatever_happens) {
  const auto first_seed = std::random_device{}();
  BOOST_TEST_MESSAGE("first seed " << first_seed);
  for (std::uint32_t seed = first_seed; seed != first_seed + 3000; ++seed) {
    std::mt19937 random{seed};
    std::string text;
    for (int i = 0; i < 12; ++i) {
      switch (random() % 6) {
        case 0: text += get_request; break;
        case 1: text += post_request(std::string(random() % 190, 'b')); break;
        case 2: text += post_request("expected", "Expect: 100-continue\r\n"); break;
        case 3:
          text +=
              "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
              "3\r\nabc\r\n0\r\n\r\n";
          break;
        case 4: text += post_request("old", "Connection: close\r\n"); break;
        default: text += random() % 4 == 0 ? "garbage\r\n\r\n" : get_request;
      }
    }
    random_owner owner{seed, seed % 2 == 0};
    owner.live(text);
    BOOST_TEST(owner.books_balance(), "seed " << seed);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
