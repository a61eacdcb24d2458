#include "scheduler/run_queues.hpp"

#include <algorithm>
#include <ranges>

#include "base/assert.hpp"

namespace glimmer {

void run_queues::leave(sequence& s) {
  switch (s.state) {
    case sequence_state::following:
      if (!s.leader) break;
      std::erase(s.leader->followers, &s);
      s.leader = nullptr;
      --following_;
      break;
    case sequence_state::waiting: waiting_.erase(&s); break;
    case sequence_state::parked: parked_.erase(&s); break;
    case sequence_state::running: {
      const auto at = std::ranges::lower_bound(running_, &s, served_before{});
      if (at != running_.end() && *at == &s) running_.erase(at);
      break;
    }
    case sequence_state::ended: break;
  }
  resting_.erase(&s);
  s.state = sequence_state::ended;
}

void run_queues::follow(sequence& s, sequence& leader) {
  s.state = sequence_state::following;
  s.leader = &leader;
  leader.followers.push_back(&s);
  ++following_;
}

void run_queues::wait(sequence& s) {
  leave(s);
  s.state = sequence_state::waiting;
  waiting_.insert(&s);
  if (!s.blocks.empty()) resting_.insert(&s);
}

void run_queues::run(sequence& s) {
  leave(s);
  s.state = sequence_state::running;
  running_.insert(std::ranges::lower_bound(running_, &s, served_before{}), &s);
}

void run_queues::park(sequence& s, time_point now) {
  leave(s);
  s.state = sequence_state::parked;
  s.parked_since = now;
  parked_.insert(&s);
  if (!s.blocks.empty()) resting_.insert(&s);
}

sequence* run_queues::parked_victim() const {
  for (auto* s : resting_ | std::views::reverse) {
    if (s->state == sequence_state::parked) return s;
  }
  return nullptr;
}

sequence* run_queues::victim_for(const sequence& needy) const {
  if (auto* parked = parked_victim()) return parked;
  auto* last = running_.empty() ? nullptr : running_.back();
  if (!resting_.empty() && (!last || last->key < (*resting_.rbegin())->key)) {
    last = *resting_.rbegin();
  }
  return last && needy.key < last->key ? last : nullptr;
}

sequence* run_queues::resting_victim_for(const sequence& needy) const {
  if (auto* parked = parked_victim()) return parked;
  for (auto* s : resting_ | std::views::reverse) {
    if (s != &needy) return s;
  }
  return nullptr;
}

}  // namespace glimmer
