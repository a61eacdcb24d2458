#include "actors/loop_actor.hpp"

#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/sec.hpp>
#include <utility>

namespace glimmer {

loop_actor::loop_actor(caf::actor_config& config, event_loop* loop)
    : extended_base{config},
      unit_{&home_system()},
      wakeup_{std::make_unique<wakeup>(*loop, [this] { handle_mail(); })},
      bell_{wakeup_->make_bell()} {}

loop_actor::~loop_actor() = default;

void loop_actor::enqueue(caf::mailbox_element_ptr mail, caf::execution_unit*) {
  bool first = false;
  {
    const std::lock_guard guard{mutex_};
    if (!closed_) {
      first = mail_.empty();
      mail_.push_back(std::move(mail));
    }
  }
  if (mail) bounce(mail, caf::make_error(caf::sec::request_receiver_down));  // closed
  if (first) bell_.ring();
}

std::size_t loop_actor::waiting() {
  const std::lock_guard guard{mutex_};
  return mail_.size();
}

void loop_actor::handle_mail() {
  std::vector<caf::mailbox_element_ptr> mail;
  {
    const std::lock_guard guard{mutex_};
    mail.swap(mail_);
  }
  for (auto& element : mail) activate(&unit_, *element);
}

void loop_actor::close_mailbox() {
  handle_mail();
  std::vector<caf::mailbox_element_ptr> rest;
  {
    const std::lock_guard guard{mutex_};
    closed_ = true;
    rest.swap(mail_);
  }
  wakeup_.reset();
  cleanup(caf::exit_reason::normal, &unit_);
}

}  // namespace glimmer
