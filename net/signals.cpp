#include "net/signals.hpp"

#include <uv.h>

#include "base/assert.hpp"
#include "net/handle.hpp"

namespace glimmer {

struct signals::state {
  uv_signal_t handle{};
  std::function<void(int)> on_signal;
};

signals::signals(event_loop& loop, const std::vector<int>& numbers,
                 std::function<void(int)> on_signal) {
  for (const int number : numbers) {
    auto* watched = new state{.handle = {}, .on_signal = on_signal};
    uv_signal_init(loop.raw(), &watched->handle);
    watched->handle.data = watched;
    const int failed = uv_signal_start(
        &watched->handle,
        [](uv_signal_t* handle, int got) { static_cast<state*>(handle->data)->on_signal(got); },
        number);
    GLIMMER_ASSERT(failed == 0, "the signal is one that can be watched");
    states_.push_back(watched);
  }
}

signals::~signals() {
  for (auto* watched : states_) detail::close_and_free(watched);
}

}  // namespace glimmer
