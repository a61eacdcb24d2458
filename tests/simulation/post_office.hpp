#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "actors/messages.hpp"
#include "tests/simulation/dice.hpp"

namespace glimmer {

enum class seat : std::uint8_t { frontend, tokenizer, parser, scheduler, executor, supervisor };

/// An actor of a simulated house.
struct address {
  seat who = seat::scheduler;
  std::uint32_t index = 0;
  friend auto operator<=>(const address&, const address&) = default;
};

/// Everything that actors say to one another while they work.
using letter =
    std::variant<message::prepare_request, message::credits_wanted, message::credits_given,
                 message::credits_recalled, message::credits_returned, message::abort_requests,
                 message::request_refused, message::open_answer, message::submit_sequence,
                 message::sequence_admitted, message::sequence_refused, message::run_step,
                 message::step_done, message::step_failed, message::tokens_ready,
                 message::end_sequence, message::write_bytes, message::window_returned,
                 message::cancel_request, message::reset_prefix_cache, message::state_changed,
                 message::drain>;

/// Mail between actors, as they may expect it: in order from one to another, and in no order
/// beyond that. Which letter comes next is thrown with dice.
class post_office {
 public:
  struct delivery {
    address from;
    address to;
    letter what;
  };

  void send(address from, address to, letter what) {
    auto& line = lines_[{from, to}];
    if (line.empty()) busy_.emplace_back(from, to);
    line.push_back(std::move(what));
    deepest_ = std::max(deepest_, line.size());
  }
  bool empty() const { return busy_.empty(); }
  /// There must be one.
  delivery take(dice& chance) {
    const auto at = chance.next() % busy_.size();
    const auto way = busy_[at];
    auto& line = lines_[way];
    delivery out{way.first, way.second, std::move(line.front())};
    line.pop_front();
    if (line.empty()) {
      busy_[at] = busy_.back();
      busy_.pop_back();
    }
    return out;
  }
  /// The most letters that ever waited between two actors.
  std::size_t deepest() const { return deepest_; }

 private:
  using way = std::pair<address, address>;
  std::map<way, std::deque<letter>> lines_;
  std::vector<way> busy_;
  std::size_t deepest_ = 0;
};

}  // namespace glimmer
