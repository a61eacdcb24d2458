#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/limits.hpp"
#include "engine/accepted_request.hpp"
#include "engine/answer_piece.hpp"
#include "engine/token_digester.hpp"
#include "protocol/metrics.hpp"
#include "protocol/openai/answer_writer.hpp"
#include "protocol/openai/completion_response.hpp"
#include "scheduler/sequence_output.hpp"
#include "scheduler/sequence_request.hpp"

namespace glimmer {

/// A stop string (or the end of the turn) was found: later tokens of the sequence are not wanted.
struct sequence_end_found {
  sequence_id sequence;
  std::uint32_t output_index = 0;
};

/// An accepted request that ends with an error before a byte of its answer went out.
struct answer_refusal {
  request_id request;
  error why;
};

/// What an answer desk wants told to others after a call.
struct desk_mail {
  std::vector<answer_piece> pieces;            ///< to the frontends
  std::vector<answer_refusal> refusals;        ///< to the frontends
  std::vector<sequence_end_found> ends;        ///< to the scheduler
  std::vector<request_id> cancels;             ///< to the scheduler: a choice failed, end the rest
  std::vector<sequence_tokens_taken> windows;  ///< to the scheduler
};

/// The parser's mind: keeps every request pinned to it from acceptance to its end, turns tokens
/// into events and events into body bytes. Tokens that make no bytes go back to their window at
/// once. Every opened request ends exactly once: by a last piece, or by a refusal. Not
/// thread-safe.
class answer_desk {
 public:
  struct config {
    std::shared_ptr<const tokenizer> tokens;
    std::uint64_t process_key = 0;  ///< of call ids: random per process
    limits bounds;
    std::uint64_t context_tokens = 0;  ///< where token histograms end
  };
  explicit answer_desk(config setup);

  /// Keeps the request and returns what the scheduler must be asked, prompt by prompt.
  std::vector<sequence_request> open(std::shared_ptr<const accepted_request> accepted);
  /// The scheduler took it: the frontend is told, with a stream's first chunk.
  void admitted(request_id request);
  /// The scheduler did not take it.
  void refused(request_id request, const error& why);
  /// What a step brought.
  void take(const committed& step, time_point now);

  desk_mail take_mail() { return std::exchange(mail_, {}); }
  std::size_t open_requests() const { return open_.size(); }
  const metrics& counters() const { return counters_; }

 private:
  struct choice {
    token_digester digester;
    std::optional<std::string> stop_string;
    bool found_end = false;
  };
  struct open_request {
    std::shared_ptr<const accepted_request> accepted;
    std::unique_ptr<answer_writer> answer;
    std::vector<choice> choices;                    // prompt by prompt
    std::vector<sequence_usage> prompts;            // prompt and cached tokens
    std::string bytes;                              // of this step
    std::vector<sequence_tokens_taken> stands_for;  // of this step
    std::optional<time_point> first_token;
    time_point last_token{};
    std::size_t left = 0;         // choices that have not ended
    std::optional<error> failed;  // the first bad ending; told at the last one
    bool cancelled = false;       // the other choices, once one has failed
    bool touched = false;
  };

  open_request* find(request_id request);
  void digest(open_request& at, const sequence_output& output, time_point now);
  void finish(open_request& at, const sequence_finished& ending);
  void settle(open_request& at, time_point now);
  void send_piece(open_request& at, bool last);
  void count_tokens(open_request& at, std::size_t tokens, time_point now);
  spelled_logprob spell(const token_logprob& entry) const;
  std::unique_ptr<answer_writer> make_writer(const accepted_request& accepted) const;
  completion_prompt shown(const accepted_request& accepted, std::size_t prompt) const;

  config setup_;
  std::unordered_map<request_id, open_request> open_;
  std::vector<request_id> touched_;  // in this step, in order
  metrics counters_;
  desk_mail mail_;
  std::vector<turn_event> events_;  // reused
  std::vector<token_id> shown_;     // reused
};

}  // namespace glimmer
