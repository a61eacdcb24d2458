#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "engine/answer_piece.hpp"
#include "engine/answer_sink.hpp"
#include "engine/engine_state.hpp"

namespace glimmer {

/// Names a request of this process before the engine has given it an id.
using client_ticket = strong_id<struct client_ticket_tag>;

/// The front desk of requests that come without a socket. Every opened ticket's sink gets exactly
/// one last part. Not thread-safe.
class local_desk {
 public:
  struct config {
    std::uint64_t first_request = 1;
    std::uint64_t request_stride = 1;
    std::size_t requests_max = 1024;
  };
  local_desk() : local_desk{config{}} {}
  explicit local_desk(config setup) : setup_{setup}, next_request_{setup.first_request} {}

  /// A new request's id; or nothing, and the sink has been told why.
  std::optional<request_id> open(client_ticket ticket, answer_sink sink);
  /// The sink gets no more bytes, only its last part when the engine has let go.
  void cancel(client_ticket ticket);

  void refuse(request_id request, const error& why);
  void answer(std::span<const answer_piece> pieces);
  void state_changed(const engine_state& state) { phase_ = state.phase; }
  void drain() { phase_ = engine_phase::draining; }
  /// The engine goes: every open sink gets its last part now.
  void close();

  std::vector<request_id> take_cancels() { return std::exchange(cancels_, {}); }
  std::vector<sequence_tokens_taken> take_windows() { return std::exchange(windows_, {}); }
  std::size_t open_requests() const { return open_.size(); }

 private:
  struct open_request {
    client_ticket ticket;
    answer_sink sink;
    bool begun = false;  // a part went out
    bool known = false;  // the engine has spoken of it: a cancel finds it
    bool cancelled = false;
  };
  std::optional<error> closed() const;

  config setup_;
  std::uint64_t next_request_;
  engine_phase phase_ = engine_phase::loading;
  std::unordered_map<request_id, open_request> open_;
  std::unordered_map<client_ticket, request_id> tickets_;
  std::vector<request_id> cancels_;
  std::vector<sequence_tokens_taken> windows_;
};

}  // namespace glimmer
