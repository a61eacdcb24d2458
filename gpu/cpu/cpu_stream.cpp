#include "gpu/cpu/cpu_stream.hpp"

namespace glimmer {

cpu_stream::~cpu_stream() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
}

std::uint64_t cpu_stream::queued() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

void cpu_stream::wait(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return completed_ >= ticket; });
}

void cpu_stream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return queued_ > completed_ || stopping_; });
    if (queued_ == completed_) return;
    slot& next = ring_[completed_ % slots];
    lock.unlock();
    next.run(next.storage);
    lock.lock();
    completed_.fetch_add(1, std::memory_order_release);
    room_.notify_one();
    done_.notify_all();
  }
}

}  // namespace glimmer
