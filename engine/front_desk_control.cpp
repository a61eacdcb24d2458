// What happens to requests from outside their own connection: credits, aborts, time limits, new
// rules.
#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "base/json.hpp"
#include "engine/front_desk.hpp"
#include "protocol/openai/error_body.hpp"

namespace glimmer {

namespace {

constexpr std::chrono::milliseconds word_of_pool_holds{50};

}  // namespace

// ---- credits -----------------------------------------------------------------------------------

/// The last look at the gate: one admission credit, held until the request has ended.
void front_desk::enter(connection& at, exchange_id exchange, time_point now) {
  at.holds_credit = credits_.take();
  if (at.holds_credit) at.http.accept(exchange, now);
}

void front_desk::release_credit(connection& at) {
  if (std::exchange(at.holds_credit, false)) free_credit();
}

void front_desk::free_credit() {
  credits_.give_back();
  return_surplus();
}

error front_desk::queue_full() {
  counters_.add(counters_.series(metric::rejected, {{"reason", "requests_in_flight"}}));
  return {error_kind::overloaded, "queue_full", "",
          fmt::format("{} requests are in flight, which is all this server takes at a time.",
                      config_.admission_credits)};
}

/// The gate stays shut until the pool has answered: no request is refused while another frontend's
/// credits lie idle. One question at a time, for all who wait.
void front_desk::want_credit(waiting_gate gate) {
  gates_.push_back(gate);
  if (credits_asked_ == 0) ask_for_credits();
}

/// In a flood one request asks for all, and the others learn at once what they would learn a
/// message later.
bool front_desk::known_full(time_point now) const {
  return credits_asked_ > 0 && pool_empty_at_ && now - *pool_empty_at_ < word_of_pool_holds;
}

void front_desk::ask_for_credits() {
  credits_asked_ = gates_.size();
  orders_.push_back({.what = desk_order::kind::want_credits, .credits = credits_asked_});
}

/// Fewer than asked for: the pool is empty, and no other frontend has an idle one.
void front_desk::credits_given(std::size_t credits, time_point now) {
  credits_.given(credits);
  const bool pool_empty = credits < std::exchange(credits_asked_, 0);
  pool_empty_at_ = pool_empty ? std::optional{now} : std::nullopt;
  while (!gates_.empty() && (credits_.idle() > 0 || pool_empty)) {
    const auto gate = gates_.front();
    gates_.pop_front();
    serve_gate(gate, now);
  }
  if (gates_.empty()) return return_surplus();
  ask_for_credits();
}

void front_desk::return_surplus() {
  if (!config_.credits_leased || !gates_.empty()) return;
  if (const auto back = credits_.surplus()) {
    orders_.push_back({.what = desk_order::kind::return_credits, .credits = back});
  }
}

/// Opens or refuses, if the client is still there.
void front_desk::serve_gate(const waiting_gate& gate, time_point now) {
  const auto found = connections_.find(gate.at);
  if (found == connections_.end() || found->second.http.current() != gate.exchange) return;
  auto& at = found->second;
  const routing to{.where = at.where};
  if (const auto why = closed_gate(at, to)) {  // much may have happened since
    respond(at, gate.exchange, error_response(*why), now);
  } else {
    enter(at, gate.exchange, now);
    if (!at.holds_credit) respond(at, gate.exchange, error_response(queue_full()), now);
  }
  obey(gate.at, at, now);
}

void front_desk::credits_recalled() {
  orders_.push_back({.what = desk_order::kind::answer_recall, .credits = credits_.recalled()});
}

/// Once a second: what is not needed goes back, and the counters tell.
void front_desk::tell_credits() {
  return_surplus();
  const auto tell = [&](std::string state, std::size_t value) {
    counters_.set(counters_.series(metric::admission_credits, {{"state", std::move(state)}}),
                  static_cast<double>(value));
  };
  tell("used", credits_.used());
  tell("idle", credits_.idle());
}

// ---- ends that nobody's leaving made -----------------------------------------------------------

void front_desk::end_early(request_id request, open_request& open, cancel_reason reason) {
  if (open.gone || open.ends) return;
  open.ends = reason;
  cancel(request, open, reason);
}

void front_desk::serve_abort(connection& at, exchange_id exchange, time_point now) {
  const abort_wish wish{std::string{aborted_request(at.http.head().path())}, at.key};
  http_response response{.status = 202};
  json_writer w{response.body};
  w.begin_object().key("id").string(wish.label).key("status").string("cancelling").end_object();
  respond(at, exchange, std::move(response), now);
  orders_.push_back({.what = desk_order::kind::abort, .label = wish.label, .key = wish.key});
  abort(wish);
}

void front_desk::abort(const abort_wish& wish) {
  for (auto& [request, open] : requests_) {
    if (open.abort.label == wish.label && open.abort.key == wish.key) {
      end_early(request, open, cancel_reason::abort);
    }
  }
}

void front_desk::end_late(time_point now) {
  const std::chrono::milliseconds most{config_.bounds.request_timeout_ms};
  if (most == most.zero()) return;
  for (auto& [request, open] : requests_) {
    if (now - open.began >= most) end_early(request, open, cancel_reason::deadline);
  }
}

void front_desk::change_rules(desk_rules rules) {
  config_.bounds = rules.bounds;
  config_.api_keys = std::move(rules.api_keys);
  config_.admission_credits = rules.bounds.requests_in_flight;
}

}  // namespace glimmer
