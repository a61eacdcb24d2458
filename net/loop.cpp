#include "net/loop.hpp"

#include <signal.h>
#include <uv.h>

#include <utility>

#include "base/assert.hpp"
#include "net/loop_state.hpp"

namespace glimmer {
namespace {

void run_posted(event_loop::state& state) {
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock{state.mutex};
    work.swap(state.posted);
  }
  for (auto& each : work) each();
}

/// A broken pipe signals the thread that wrote, so its own mask is enough.
void block_broken_pipes() {
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  const int failed = pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  GLIMMER_ASSERT(failed == 0, "a thread may block its own signals");
}

}  // namespace

event_loop::event_loop() : state_{std::make_unique<state>()} {
  block_broken_pipes();
  const int failed = uv_loop_init(&state_->loop);
  GLIMMER_ASSERT(failed == 0, "the system has descriptors left for an event loop");
  state_->loop.data = state_.get();
  state_->wake = std::make_unique<wakeup>(*this, [s = state_.get()] { run_posted(*s); });
}

event_loop::~event_loop() {
  {
    const std::lock_guard lock{state_->mutex};
    state_->closed = true;
    state_->posted.clear();
  }
  state_->wake.reset();
  uv_run(&state_->loop, UV_RUN_DEFAULT);  // close callbacks free the handles
  const int failed = uv_loop_close(&state_->loop);
  GLIMMER_ASSERT(failed == 0, "all handles are destroyed before their loop");
}

void event_loop::run() {
  uv_run(&state_->loop, UV_RUN_DEFAULT);
}
void event_loop::stop() {
  uv_stop(&state_->loop);
}
void event_loop::poll() {
  uv_run(&state_->loop, UV_RUN_NOWAIT);
}
void event_loop::wait() {
  uv_run(&state_->loop, UV_RUN_ONCE);
}

bool event_loop::post(std::function<void()> work) {
  const std::lock_guard lock{state_->mutex};
  if (state_->closed) return false;
  state_->posted.push_back(std::move(work));
  return state_->wake->ring();
}

time_point event_loop::now() const {
  return {std::chrono::milliseconds{uv_now(&state_->loop)}};
}

uv_loop_s* event_loop::raw() const {
  return &state_->loop;
}

}  // namespace glimmer
