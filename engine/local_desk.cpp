#include "engine/local_desk.hpp"

#include <fmt/core.h>

#include <string>

#include "protocol/openai/error_body.hpp"

namespace glimmer {
namespace {

answer_part refusal(const error& why) {
  auto response = error_response(why);
  return {.status = response.status, .bytes = std::move(response.body), .last = true};
}

}  // namespace

std::optional<error> local_desk::closed() const {
  if (phase_ != engine_phase::serving) {
    return error{error_kind::unavailable, std::string{to_string(phase_)}, "",
                 "The engine takes no requests now."};
  }
  if (open_.size() < setup_.requests_max) return std::nullopt;
  return error{error_kind::overloaded, "queue_full", "",
               fmt::format("{} requests are in flight, which is all this engine takes at a time.",
                           setup_.requests_max)};
}

std::optional<request_id> local_desk::open(client_ticket ticket, answer_sink sink) {
  if (const auto why = closed()) {
    sink(refusal(*why));
    return std::nullopt;
  }
  const request_id request{next_request_};
  next_request_ += setup_.request_stride;
  open_.emplace(request, open_request{ticket, std::move(sink)});
  tickets_.emplace(ticket, request);
  return request;
}

void local_desk::cancel(client_ticket ticket) {
  const auto known = tickets_.find(ticket);
  if (known == tickets_.end()) return;
  open_.at(known->second).cancelled = true;
  cancels_.push_back(known->second);
}

void local_desk::refuse(request_id request, const error& why) {
  const auto at = open_.extract(request);
  if (!at) return;
  tickets_.erase(at.mapped().ticket);
  at.mapped().sink(refusal(why));
}

void local_desk::answer(std::span<const answer_piece> pieces) {
  for (const auto& piece : pieces) {
    windows_.insert(windows_.end(), piece.stands_for.begin(), piece.stands_for.end());
    const auto at = open_.find(piece.request);
    if (at == open_.end()) continue;
    const bool cancelled = at->second.cancelled;
    const bool tells = !piece.bytes.empty() && !cancelled;  // an empty piece decides no status yet
    if (tells || piece.last) {
      at->second.begun = true;
      at->second.sink({.bytes = cancelled ? std::string{} : piece.bytes, .last = piece.last});
    }
    const bool was_known = std::exchange(at->second.known, true);
    if (cancelled && !was_known && !piece.last) {
      cancels_.push_back(piece.request);  // the first may have come too early
    }
    if (!piece.last) continue;
    tickets_.erase(at->second.ticket);
    open_.erase(at);
  }
}

void local_desk::close() {
  drain();
  const auto left = refusal(error{error_kind::unavailable, "closed", "", "The engine has ended."});
  for (const auto& [request, one] : std::exchange(open_, {})) {
    one.sink(one.begun ? answer_part{.last = true} : left);  // an answer that has begun breaks off
  }
  tickets_.clear();
}

}  // namespace glimmer
