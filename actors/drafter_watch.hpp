#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <caf/message_handler.hpp>
#include <cstdint>
#include <functional>

#include "actors/log.hpp"

namespace glimmer {

/// The supervisor's care for the drafter, whose death is nobody's end: another one is sent, at once
/// the first time, later and later when they keep dying.
class drafter_watch {
 public:
  /// Has a drafter made with `make` (empty: none is wanted), and watches it.
  void send_first(caf::event_based_actor* self, std::function<caf::actor()> make);
  /// Handles drafter_wanted, for as long as this lives in `self`.
  caf::message_handler sender(caf::event_based_actor* self);
  /// Whether it was the drafter that died; if so the next one is on its way.
  bool replaced(caf::event_based_actor* self, const caf::down_msg& died, const event_log& log);

 private:
  void send(caf::event_based_actor* self);

  std::function<caf::actor()> make_;
  caf::actor drafter_;
  std::uint32_t deaths_ = 0;
};

}  // namespace glimmer
