#pragma once

#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace glimmer {

/// The threads that compute. Results never depend on how many there are: a loop's iterations are
/// independent, and each computes in an order of its own.
class cpu_arena {
 public:
  /// Pins the threads to `cpus` in turn unless that is empty.
  cpu_arena(unsigned threads, std::vector<unsigned> cpus);
  ~cpu_arena();

  unsigned threads() const { return threads_; }

  /// Calls body(i) for all i < tasks, in any order, and returns when all are done. Any thread.
  template <class Body>
  void for_each(std::size_t tasks, const Body& body) {
    if (tasks == 1) return body(std::size_t{0});
    arena_.execute([&] { tbb::parallel_for(std::size_t{0}, tasks, body); });
  }

  /// Scratch memory of the calling thread, 64-byte aligned, for the current iteration only.
  float* scratch(std::size_t floats);

  /// Pins the calling thread as the `index`-th one of the arena.
  void pin(unsigned index) const;

 private:
  class pinning;
  using memory = std::vector<float, tbb::cache_aligned_allocator<float>>;

  unsigned threads_;
  std::vector<unsigned> cpus_;
  std::unique_ptr<tbb::global_control> more_threads_;  ///< when more than there are processors
  tbb::task_arena arena_;
  tbb::enumerable_thread_specific<memory> scratch_;
  std::unique_ptr<pinning> pinning_;
};

}  // namespace glimmer
