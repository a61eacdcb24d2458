#include "actors/parser.hpp"

#include <caf/all.hpp>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/messages.hpp"
#include "actors/real_clock.hpp"

namespace glimmer {
namespace {

constexpr auto publish_period = std::chrono::seconds{1};

struct answering {
  static inline const char* name = "parser";
  std::optional<answer_desk> desk;
  std::unordered_map<request_id, caf::actor> askers;  // who shows the answer of an open request
  parser_peers peers;
};
using parser_self = caf::stateful_actor<answering>;

/// Sends what the desk wants told: one message per step and frontend.
void send_mail(parser_self* self) {
  auto& s = self->state;
  auto mail = s.desk->take_mail();
  std::map<caf::actor, std::vector<answer_piece>> pieces;
  for (auto& piece : mail.pieces) {
    const auto asker = s.askers.find(piece.request);
    auto& several = pieces[asker->second];
    if (several.empty()) several.reserve(mail.pieces.size());
    if (piece.last) s.askers.erase(asker);
    several.push_back(std::move(piece));
  }
  for (auto& [to, several] : pieces) {
    self->send(to, message::write_bytes{
                       std::make_shared<const std::vector<answer_piece>>(std::move(several))});
  }
  for (auto& refusal : mail.refusals) {
    const auto asker = s.askers.extract(refusal.request);
    self->send(asker.mapped(), message::request_refused{refusal.request, std::move(refusal.why)});
  }
  for (const auto& [sequence, index] : mail.ends) {
    self->send(s.peers.scheduler, message::end_sequence{sequence, index});
  }
  for (const auto request : mail.cancels) {
    self->send(s.peers.scheduler, message::cancel_request{request, cancel_reason::sibling});
  }
  if (!mail.windows.empty()) {
    self->send(s.peers.scheduler, message::window_returned{std::move(mail.windows)});
  }
}

caf::behavior live(parser_self* self, const answer_desk::config& setup, const parser_peers& peers) {
  self->state.desk.emplace(setup);
  self->state.peers = peers;
  auto& desk = *self->state.desk;
  self->delayed_send(self, publish_period, message::tick{});
  return {
      [=, &desk](const message::open_answer& m) {
        self->state.askers.emplace(m.accepted->request, m.frontend);
        self->send(self->state.peers.scheduler, message::submit_sequence{desk.open(m.accepted)});
      },
      [=, &desk](const message::sequence_admitted& m) {
        desk.admitted(m.request);
        send_mail(self);
      },
      [=, &desk](const message::sequence_refused& m) {
        desk.refused(m.request, m.why);
        send_mail(self);
      },
      [=, &desk](const message::tokens_ready& m) {
        desk.take(*m.step, monotonic_now());
        send_mail(self);
      },
      [=, &desk](message::tick) {
        const auto source = self->state.peers.source;
        auto counters = std::make_shared<metrics>(desk.counters());
        count_mail(*counters, self->mailbox().size(), source);
        self->send(self->state.peers.supervisor,
                   message::metrics_published{source, std::move(counters)});
        self->delayed_send(self, publish_period, message::tick{});
      },
  };
}

}  // namespace

caf::actor spawn_parser(caf::actor_system& system, answer_desk::config setup, parser_peers peers) {
  return system.spawn<caf::detached>(live, std::move(setup), std::move(peers));
}

}  // namespace glimmer
