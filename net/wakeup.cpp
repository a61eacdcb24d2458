#include "net/wakeup.hpp"

#include <uv.h>

#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "net/handle.hpp"

namespace glimmer {
namespace {

struct async_state {
  uv_async_t handle{};
  std::function<void()> on_ring;
};

}  // namespace

/// Shared by the wakeup and its bells; the handle is null once the wakeup is destroyed.
struct bell::state {
  std::mutex mutex;
  async_state* async = nullptr;
};

bool bell::ring() {
  const std::lock_guard lock{shared_->mutex};
  if (!shared_->async) return false;
  uv_async_send(&shared_->async->handle);
  return true;
}

wakeup::wakeup(event_loop& loop, std::function<void()> on_ring)
    : shared_{std::make_shared<bell::state>()} {
  auto* async = new async_state{.handle = {}, .on_ring = std::move(on_ring)};
  const int failed = uv_async_init(loop.raw(), &async->handle, [](uv_async_t* handle) {
    auto* self = static_cast<async_state*>(handle->data);
    self->on_ring();
  });
  GLIMMER_ASSERT(failed == 0, "the system has descriptors left for a wakeup");
  async->handle.data = async;
  shared_->async = async;
}

wakeup::~wakeup() {
  async_state* async = nullptr;
  {
    const std::lock_guard lock{shared_->mutex};
    async = std::exchange(shared_->async, nullptr);
  }
  detail::close_and_free(async);
}

}  // namespace glimmer
