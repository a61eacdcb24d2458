#include "actors/credit_bank.hpp"

#include <algorithm>
#include <caf/all.hpp>

#include "actors/messages.hpp"

namespace glimmer {

std::size_t credit_bank::holder_of(const caf::actor& who) {
  const auto at = std::ranges::find(holders_, who);
  const auto index = static_cast<std::size_t>(at - holders_.begin());
  if (at == holders_.end()) holders_.push_back(who);
  return index;
}

caf::message_handler credit_bank::counter(caf::event_based_actor* self) {
  const auto sender = [=] { return caf::actor_cast<caf::actor>(self->current_sender()); };
  return {[=, this](const message::credits_wanted& m) {
            pool_.wanted({holder_of(sender()), m.credits});
            carry_out(self);
          },
          [=, this](const message::credits_returned& m) {
            pool_.returned({holder_of(sender()), m.credits}, m.asked);
            carry_out(self);
          }};
}

void credit_bank::set_total(caf::event_based_actor* self, std::size_t total) {
  pool_.set_total(total);
  carry_out(self);
}

void credit_bank::carry_out(caf::event_based_actor* self) {
  for (const auto& [what, note] : pool_.take_orders()) {
    const auto& to = holders_[note.holder];
    if (what == credit_pool::order::kind::give) {
      self->send(to, message::credits_given{note.credits});
    } else {
      self->send(to, message::credits_recalled{});
    }
  }
}

}  // namespace glimmer
