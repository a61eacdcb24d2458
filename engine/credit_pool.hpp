#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace glimmer {

/// A word between the pool and one holder of its credits.
struct credit_note {
  std::size_t holder = 0;
  std::size_t credits = 0;
};

/// All admission credits of the process, leased to those who admit:
///
///     pool + held by each holder = total         (a holder's: in use + idle, see credit_lease)
///
/// A holder that has none left asks. When the pool is empty, the others are asked to return what
/// lies idle with them, so credits are denied only when every one of them is in use. A holder that
/// was asked returns what becomes free from then on, until it is given some again: so it need not
/// be asked twice, and a server that is full says no at once. Not thread-safe.
class credit_pool {
 public:
  explicit credit_pool(std::size_t total) : total_{total}, free_{as_signed(total)} {}

  /// `credits`: how many a holder could use at once. Answered by one `give`, of none perhaps.
  void wanted(credit_note asked);
  /// Idle credits come back. `asked`: as the answer to a `recall`.
  void returned(credit_note back, bool asked);
  /// Fewer credits: those in use stay so until they come back.
  void set_total(std::size_t total);

  struct order {
    enum class kind : std::uint8_t { give, recall };
    kind what = kind::give;
    credit_note note;
  };
  /// What to tell the holders, in order.
  std::vector<order> take_orders() { return std::exchange(orders_, {}); }

  std::size_t total() const { return total_; }
  std::size_t in_pool() const { return free_ > 0 ? static_cast<std::size_t>(free_) : 0; }
  std::size_t held() const;

 private:
  struct holder {
    std::size_t held = 0;
    bool dry = true;  ///< keeps nothing idle
  };

  static std::int64_t as_signed(std::size_t n) { return static_cast<std::int64_t>(n); }
  holder& at(std::size_t index);
  void serve();
  void give(credit_note asked);
  void recall_from_others(std::size_t asker);

  std::size_t total_;
  std::int64_t free_;  // below zero after the total fell
  std::vector<holder> holders_;
  std::deque<credit_note> asking_;
  std::size_t recalls_open_ = 0;
  std::vector<order> orders_;
};

/// One holder's side of the pool. Not thread-safe.
class credit_lease {
 public:
  /// `keep`: idle credits that need not be returned unasked.
  explicit credit_lease(std::size_t keep = 0) : keep_{keep} {}

  bool take();
  void give_back();
  void given(std::size_t credits);
  /// The pool asks: what lies idle now goes back, and so does what becomes free later.
  std::size_t recalled();
  /// What should go back by now; call after `give_back` and from time to time.
  std::size_t surplus();

  std::size_t idle() const { return held_ - used_; }
  std::size_t used() const { return used_; }

 private:
  std::size_t keep_;
  std::size_t held_ = 0;
  std::size_t used_ = 0;
  bool generous_ = false;
};

}  // namespace glimmer
