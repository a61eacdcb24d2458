#include "engine/credit_pool.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace glimmer {

// ---- the pool ----------------------------------------------------------------------------------

credit_pool::holder& credit_pool::at(std::size_t index) {
  if (index >= holders_.size()) holders_.resize(index + 1);
  return holders_[index];
}

std::size_t credit_pool::held() const {
  std::size_t sum = 0;
  for (const auto& one : holders_) sum += one.held;
  return sum;
}

void credit_pool::wanted(credit_note asked) {
  at(asked.holder);
  asking_.push_back(asked);
  serve();
}

void credit_pool::returned(credit_note back, bool asked) {
  auto& from = at(back.holder);
  GLIMMER_ASSERT(back.credits <= from.held, "a holder returns what it was given");
  from.held -= back.credits;
  free_ += as_signed(back.credits);
  if (asked) {
    GLIMMER_ASSERT(recalls_open_ > 0, "a recall is answered once");
    --recalls_open_;
    from.dry = true;
  }
  serve();
}

void credit_pool::set_total(std::size_t total) {
  free_ += as_signed(total) - as_signed(total_);
  total_ = total;
  if (free_ < 0 && recalls_open_ == 0) recall_from_others(holders_.size());
  serve();
}

/// One asker at a time, and nobody is given anything while a recall is open: so pool and holder
/// never disagree about who is dry.
void credit_pool::serve() {
  while (!asking_.empty() && recalls_open_ == 0) {
    if (free_ <= 0) recall_from_others(asking_.front().holder);
    if (recalls_open_ > 0) return;
    give(asking_.front());
    asking_.pop_front();
  }
}

/// A little more than is wanted, where there is plenty: the next request need not wait.
void credit_pool::give(credit_note asked) {
  const auto plenty = std::max(asked.credits, in_pool() / 16);
  const auto credits = std::min(in_pool(), plenty);
  auto& to = at(asked.holder);
  to.held += credits;
  free_ -= as_signed(credits);
  if (credits > 0) to.dry = false;
  orders_.push_back({order::kind::give, {asked.holder, credits}});
}

void credit_pool::recall_from_others(std::size_t asker) {
  for (std::size_t i = 0; i < holders_.size(); ++i) {
    if (i == asker || holders_[i].dry || holders_[i].held == 0) continue;
    orders_.push_back({order::kind::recall, {i, 0}});
    ++recalls_open_;
  }
}

// ---- a holder ----------------------------------------------------------------------------------

bool credit_lease::take() {
  if (idle() == 0) return false;
  ++used_;
  return true;
}

void credit_lease::give_back() {
  GLIMMER_ASSERT(used_ > 0, "no more credit comes back than was taken");
  --used_;
}

void credit_lease::given(std::size_t credits) {
  held_ += credits;
  if (credits > 0) generous_ = false;
}

std::size_t credit_lease::recalled() {
  generous_ = true;
  return surplus();
}

std::size_t credit_lease::surplus() {
  const auto kept = generous_ ? 0 : keep_;
  const auto back = idle() > kept ? idle() - kept : 0;
  held_ -= back;
  return back;
}

}  // namespace glimmer
