#include "net/timer.hpp"

#include <uv.h>

#include <algorithm>
#include <utility>

#include "net/handle.hpp"

namespace glimmer {
namespace {

/// Whole milliseconds, rounded up: a timer never fires early.
std::uint64_t milliseconds(duration time) {
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  return rounded > 0 ? static_cast<std::uint64_t>(rounded) : 0;
}

struct schedule {
  std::uint64_t after;
  std::uint64_t period;  // 0: once
};

}  // namespace

struct timer::state {
  uv_timer_t handle{};
  std::function<void()> on_due;

  void start(schedule when) {
    uv_update_time(handle.loop);
    uv_timer_start(
        &handle, [](uv_timer_t* due) { static_cast<state*>(due->data)->on_due(); }, when.after,
        when.period);
  }
};

timer::timer(event_loop& loop, std::function<void()> on_due) : state_{new state} {
  uv_timer_init(loop.raw(), &state_->handle);
  state_->handle.data = state_;
  state_->on_due = std::move(on_due);
}

timer::~timer() {
  detail::close_and_free(state_);
}

void timer::once(duration after) {
  state_->start({milliseconds(after), 0});
}

void timer::every(duration period) {
  const auto time = std::max<std::uint64_t>(milliseconds(period), 1);
  state_->start({time, time});
}

void timer::stop() {
  uv_timer_stop(&state_->handle);
}

}  // namespace glimmer
