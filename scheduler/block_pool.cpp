#include "scheduler/block_pool.hpp"

#include "base/assert.hpp"

namespace glimmer {

block_pool::block_pool(std::uint32_t blocks) : count_{blocks}, slots_(blocks + 2) {
  free_.reserve(blocks);
  for (auto id = blocks; id > 0; --id) free_.push_back(static_cast<block_id>(id - 1));
  for (const auto keep : {retention::passing, retention::lasting}) {
    const auto head = list_head(keep);
    slots_[head].older = slots_[head].newer = head;
  }
}

std::uint32_t block_pool::list_head(retention keep) const {
  return count_ + (keep == retention::lasting ? 1 : 0);
}

// An age list is a ring through its head: head.older is the newest, head.newer the oldest block.
void block_pool::link_newest(std::uint32_t slot_index, retention keep) {
  const auto head = list_head(keep);
  auto& self = slots_[slot_index];
  self.older = slots_[head].older;
  self.newer = head;
  slots_[self.older].newer = slot_index;
  slots_[head].older = slot_index;
  ++cached_count_;
}

void block_pool::unlink(std::uint32_t slot_index) {
  const auto& self = slots_[slot_index];
  slots_[self.older].newer = self.newer;
  slots_[self.newer].older = self.older;
  --cached_count_;
}

std::uint32_t block_pool::oldest_cached() const {
  const auto head = list_head(retention::passing);
  const auto oldest = slots_[head].newer;
  return oldest != head ? oldest : slots_[list_head(retention::lasting)].newer;
}

block_pool::taken_block block_pool::take() {
  GLIMMER_ASSERT(available() > 0, "whoever takes a block has seen that one is available");
  taken_block taken;
  if (free_.empty()) {
    const auto oldest = oldest_cached();
    unlink(oldest);
    taken = {.id = static_cast<block_id>(oldest), .evicted = true};
  } else {
    taken = {.id = free_.back(), .evicted = false};
    free_.pop_back();
  }
  auto& self = slots_[index(taken.id)];
  GLIMMER_ASSERT(self.references == 0, "a block that is handed out has no user");
  self.where = place::used;
  self.references = 1;
  return taken;
}

void block_pool::share(block_id id) {
  auto& self = slots_[index(id)];
  GLIMMER_ASSERT(self.where != place::free, "a free block has no contents to share");
  if (self.where == place::cached) {
    unlink(index(id));
    self.where = place::used;
  }
  ++self.references;
}

void block_pool::release(block_id id, retention keep) {
  auto& self = slots_[index(id)];
  GLIMMER_ASSERT(self.references > 0, "a block is released by a user");
  if (--self.references > 0) return;
  if (keep == retention::none) {
    self.where = place::free;
    free_.push_back(id);
  } else {
    self.where = place::cached;
    link_newest(index(id), keep);
  }
}

void block_pool::forget(block_id id) {
  auto& self = slots_[index(id)];
  GLIMMER_ASSERT(self.where == place::cached, "only unused contents can be forgotten");
  unlink(index(id));
  self.where = place::free;
  free_.push_back(id);
}

block_counts block_pool::counts() const {
  return {.all = count_,
          .free = free_count(),
          .cached = cached_count_,
          .used = count_ - free_count() - cached_count_};
}

bool block_pool::consistent() const {
  std::uint32_t listed = 0;
  for (const auto keep : {retention::passing, retention::lasting}) {
    const auto head = list_head(keep);
    for (auto at = slots_[head].newer; at != head; at = slots_[at].newer) {
      if (slots_[at].where != place::cached || ++listed > cached_count_) return false;
    }
  }
  if (listed != cached_count_) return false;
  std::vector<bool> seen(count_);
  for (const auto id : free_) {
    if (seen[index(id)] || slots_[index(id)].where != place::free) return false;
    seen[index(id)] = true;
  }
  std::uint32_t used = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const bool is_used = slots_[i].where == place::used;
    if (is_used != (slots_[i].references > 0)) return false;
    used += is_used;
  }
  return used == counts().used;
}

}  // namespace glimmer
