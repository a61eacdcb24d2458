#include "actors/drafter_watch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <caf/all.hpp>
#include <chrono>
#include <utility>

#include "actors/messages.hpp"

namespace glimmer {
namespace {

/// 0, 1, 2, 4, ... 64 seconds.
std::chrono::seconds pause_after(std::uint32_t deaths) {
  return std::chrono::seconds{deaths < 2 ? 0 : 1 << std::min(deaths - 2, 6u)};
}

}  // namespace

void drafter_watch::send_first(caf::event_based_actor* self, std::function<caf::actor()> make) {
  make_ = std::move(make);
  if (make_) send(self);
}

void drafter_watch::send(caf::event_based_actor* self) {
  drafter_ = make_();
  self->monitor(drafter_);
}

caf::message_handler drafter_watch::sender(caf::event_based_actor* self) {
  return {[this, self](message::drafter_wanted) { send(self); }};
}

bool drafter_watch::replaced(caf::event_based_actor* self, const caf::down_msg& died,
                             const event_log& log) {
  if (!drafter_ || died.source != drafter_.address()) return false;
  drafter_ = nullptr;
  log.warning("drafter died",
              fmt::format("deaths={} why={}", ++deaths_, self->system().render(died.reason)));
  self->delayed_send(self, pause_after(deaths_), message::drafter_wanted{});
  return true;
}

}  // namespace glimmer
