#include "engine/credit_pool.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <random>

namespace glimmer {
namespace {

constexpr std::size_t frontends = 3;

/// A pool, its holders, and the mail between them, which arrives in order but at any time.
struct house {
  struct letter {
    enum class kind { want, back, recall_answer, give, recall } what;
    std::size_t credits = 0;
  };
  credit_pool pool;
  std::array<credit_lease, frontends> leases;
  std::array<std::deque<letter>, frontends> up, down;  // to the pool, to the holder
  std::array<bool, frontends> asking{};
  std::array<std::size_t, frontends> denials{};

  explicit house(std::size_t total) : pool{total} { leases.fill(credit_lease{2}); }

  void post() {
    for (const auto& order : pool.take_orders()) {
      const bool give = order.what == credit_pool::order::kind::give;
      down[order.note.holder].push_back(
          {give ? letter::kind::give : letter::kind::recall, order.note.credits});
    }
  }
  void deliver_up(std::size_t i) {
    const auto mail = up[i].front();
    up[i].pop_front();
    if (mail.what == letter::kind::want) pool.wanted({i, mail.credits});
    if (mail.what == letter::kind::back) pool.returned({i, mail.credits}, false);
    if (mail.what == letter::kind::recall_answer) pool.returned({i, mail.credits}, true);
    post();
  }
  void deliver_down(std::size_t i) {
    const auto mail = down[i].front();
    down[i].pop_front();
    if (mail.what == letter::kind::recall) {
      up[i].push_back({letter::kind::recall_answer, leases[i].recalled()});
      return;
    }
    asking[i] = false;
    denials[i] += mail.credits == 0;
    leases[i].given(mail.credits);
  }
  /// True when a credit was there at once.
  bool request(std::size_t i) {
    if (leases[i].take()) return true;
    if (!std::exchange(asking[i], true)) up[i].push_back({letter::kind::want, 1});
    return false;
  }
  void end(std::size_t i) {
    leases[i].give_back();
    if (const auto back = leases[i].surplus()) up[i].push_back({letter::kind::back, back});
  }
  void settle() {
    for (bool more = true; std::exchange(more, false);) {
      for (std::size_t i = 0; i < frontends; ++i) {
        while (!up[i].empty()) deliver_up(i), more = true;
        while (!down[i].empty()) deliver_down(i), more = true;
      }
    }
  }
  std::size_t used() const {
    std::size_t sum = 0;
    for (const auto& one : leases) sum += one.used();
    return sum;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(credit_pool_test)

BOOST_AUTO_TEST_CASE(a_single_credit_goes_where_it_is_wanted) {
  house h{1};
  for (const std::size_t at : {0, 1, 2, 1, 0}) {
    BOOST_TEST(!h.request(at));
    h.settle();
    BOOST_TEST_REQUIRE(h.request(at));
    h.end(at);
  }
  BOOST_TEST(h.denials == (std::array<std::size_t, frontends>{}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_holder_with_idle_credits_asks_nobody) {
  house h{64};
  h.request(0);
  h.settle();
  for (int i = 0; i < 4; ++i) BOOST_TEST(h.request(0));
  BOOST_TEST(h.up[0].empty());
}

BOOST_AUTO_TEST_CASE(a_full_house_says_no_without_asking_around_again) {
  house h{2};
  for (const std::size_t at : {0, 1}) {
    h.request(at);
    h.settle();
    BOOST_TEST_REQUIRE(h.request(at));
  }
  h.request(2);
  h.settle();
  BOOST_TEST(h.denials[2] == 1u);
  h.request(2);
  h.deliver_up(2);
  BOOST_TEST(h.down[0].empty());
  BOOST_TEST(h.down[1].empty());
  h.settle();
  BOOST_TEST(h.denials[2] == 2u);
  h.end(0);  // it was asked, so this comes back unasked
  h.settle();
  h.request(2);
  h.settle();
  BOOST_TEST(h.request(2));
}

BOOST_AUTO_TEST_CASE(fewer_credits_are_reached_when_requests_end) {
  house h{8};
  h.request(0);
  h.settle();
  while (h.leases[0].used() < 6) {
    if (!h.request(0)) h.settle();
  }
  h.pool.set_total(4);
  h.post();
  h.settle();
  BOOST_TEST(h.pool.in_pool() == 0u);
  h.request(1);
  h.settle();
  BOOST_TEST(h.denials[1] == 1u);
  for (int i = 0; i < 3; ++i) h.end(0);
  h.settle();
  BOOST_TEST(h.pool.in_pool() + h.pool.held() == 4u);
  h.request(1);
  h.settle();
  BOOST_TEST(h.request(1));
}

// Whatever the order of messages: never more in use than there are, and whoever asks in a quiet
// moment is given one as long as one is not in use.
BOOST_AUTO_TEST_CASE(no_order_of_messages_makes_or_loses_a_credit) {
  const auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  for (int run = 0; run < 200; ++run) {
    house h{1 + random() % 12};
    for (int turn = 0; turn < 400; ++turn) {
      const std::size_t i = random() % frontends;
      switch (random() % 4) {
        case 0: h.request(i); break;
        case 1:
          if (h.leases[i].used() > 0) h.end(i);
          break;
        case 2:
          if (!h.up[i].empty()) h.deliver_up(i);
          break;
        default:
          if (!h.down[i].empty()) h.deliver_down(i);
      }
      BOOST_TEST_REQUIRE(h.used() <= h.pool.total(), "seed " << seed);
      BOOST_TEST_REQUIRE(h.pool.in_pool() + h.pool.held() == h.pool.total(), "seed " << seed);
    }
    h.settle();
    for (std::size_t i = 0; i < frontends; ++i) {
      if (h.used() == h.pool.total()) break;
      if (h.request(i)) continue;
      h.settle();
      BOOST_TEST_REQUIRE(h.request(i), "seed " << seed << ": a refusal while credits lie idle");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
