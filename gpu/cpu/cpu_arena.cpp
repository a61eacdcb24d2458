#include "gpu/cpu/cpu_arena.hpp"

#include <pthread.h>
#include <sched.h>
#include <tbb/task_scheduler_observer.h>

#include <thread>
#include <utility>

namespace glimmer {

/// Pins each worker when it joins the arena.
class cpu_arena::pinning : public tbb::task_scheduler_observer {
 public:
  explicit pinning(cpu_arena& home) : tbb::task_scheduler_observer(home.arena_), home_(home) {
    observe(true);
  }
  ~pinning() override { observe(false); }

  void on_scheduler_entry(bool is_worker) override {
    if (is_worker) home_.pin(static_cast<unsigned>(tbb::this_task_arena::current_thread_index()));
  }

 private:
  cpu_arena& home_;
};

cpu_arena::cpu_arena(unsigned threads, std::vector<unsigned> cpus)
    : threads_(threads), cpus_(std::move(cpus)), arena_(static_cast<int>(threads), 1) {
  using control = tbb::global_control;
  if (threads > std::thread::hardware_concurrency())
    more_threads_ = std::make_unique<control>(control::max_allowed_parallelism, threads + 1);
  if (!cpus_.empty()) pinning_ = std::make_unique<pinning>(*this);
}

cpu_arena::~cpu_arena() = default;

float* cpu_arena::scratch(std::size_t floats) {
  memory& mine = scratch_.local();
  if (mine.size() < floats) mine.resize(floats);
  return mine.data();
}

void cpu_arena::pin(unsigned index) const {
  if (cpus_.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpus_[index % cpus_.size()], &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // a wish: failing costs speed alone
}

}  // namespace glimmer
