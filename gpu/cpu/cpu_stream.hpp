#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"

namespace glimmer {

/// A thread that runs closures in the order they were queued. The queue is a ring of fixed slots
/// that hold the closures themselves: queueing allocates nothing, and blocks while the ring is
/// full. Tickets count closures: the n-th queued one is done once `completed() >= n`.
class cpu_stream {
 public:
  static constexpr std::size_t slots = 256;
  static constexpr std::size_t closure_bytes = 760;

  /// `on_start` runs first on the new thread.
  template <class Start>
  explicit cpu_stream(Start on_start)
      : thread_([this, on_start] {
          on_start();
          run();
        }) {}
  /// Finishes what is queued.
  ~cpu_stream();

  /// Queues `work()`; returns its ticket. Any thread but the stream's own.
  template <class Work>
  std::uint64_t queue(Work&& work) {
    using closure = std::decay_t<Work>;
    static_assert(sizeof(closure) <= closure_bytes && alignof(closure) <= alignof(slot));
    std::unique_lock lock(mutex_);
    GLIMMER_ASSERT(std::this_thread::get_id() != thread_.get_id(),
                   "a stream that waits for room in its own queue waits for ever");
    room_.wait(lock, [&] { return queued_ - completed_ < slots; });
    slot& place = ring_[queued_ % slots];
    ::new (place.storage) closure(std::forward<Work>(work));
    place.run = [](std::byte* storage) {
      auto* const held = std::launder(reinterpret_cast<closure*>(storage));
      (*held)();
      std::destroy_at(held);
    };
    work_.notify_one();
    return ++queued_;
  }

  /// The ticket of the last closure queued.
  std::uint64_t queued() const;
  std::uint64_t completed() const { return completed_.load(std::memory_order_acquire); }
  /// Blocks until `completed() >= ticket`.
  void wait(std::uint64_t ticket);

 private:
  struct alignas(64) slot {
    std::byte storage[closure_bytes];
    void (*run)(std::byte* storage) = nullptr;
  };

  void run();

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable room_;
  std::condition_variable done_;
  std::uint64_t queued_ = 0;
  std::atomic<std::uint64_t> completed_ = 0;  // written under the mutex
  bool stopping_ = false;
  std::unique_ptr<slot[]> ring_ = std::make_unique<slot[]>(slots);
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace glimmer
