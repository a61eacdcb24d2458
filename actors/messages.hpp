#pragma once

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "engine/accepted_request.hpp"
#include "engine/answer_piece.hpp"
#include "engine/answer_sink.hpp"
#include "engine/engine_state.hpp"
#include "engine/local_desk.hpp"
#include "engine/scheduler_metrics.hpp"
#include "engine/server_rules.hpp"
#include "protocol/metrics.hpp"
#include "protocol/router.hpp"
#include "scheduler/draft.hpp"
#include "scheduler/sequence_output.hpp"
#include "scheduler/sequence_request.hpp"
#include "scheduler/step.hpp"

/// Everything actors say to one another: one struct per message, named as in
/// docs/architecture.md, where the table gives each one's credit and its end.
namespace glimmer::message {

/// frontend -> tokenizer: a request body to be read. Holds one admission credit.
struct prepare_request {
  request_id request;
  route where = route::chat_completions;
  std::shared_ptr<const std::string> body;
  caf::actor frontend;
  std::string fairness_key = {};  ///< instead of the client's own word
};

/// frontend -> supervisor: its admission credits are used up. Answered with credits_given.
struct credits_wanted {
  std::size_t credits = 0;
};
struct credits_given {
  std::size_t credits = 0;  ///< none: all of the process are in use
};
/// supervisor -> frontend: somebody else wants what lies idle there. Answered with
/// credits_returned.
struct credits_recalled {};
struct credits_returned {
  std::size_t credits = 0;
  bool asked = false;
};

/// frontend -> supervisor -> other frontends: requests that a client wants ended by name.
struct abort_requests {
  abort_wish wish;
};

/// engine's owner -> supervisor -> frontends, scheduler: limits and keys from now on.
struct rules_changed {
  std::shared_ptr<const server_rules> rules;
};

/// tokenizer, parser -> frontend: the request ends here, with an error before any byte.
struct request_refused {
  request_id request;
  error why;
};

/// tokenizer -> parser: opens the answer. The parser submits its sequences, so that it knows the
/// request before the first token comes.
struct open_answer {
  std::shared_ptr<const accepted_request> accepted;
  caf::actor frontend;
};

/// parser -> scheduler: sequences to be computed, one element per prompt. Answered with
/// sequence_admitted or sequence_refused.
struct submit_sequence {
  std::vector<sequence_request> prompts;
};

/// scheduler -> parser: the request is queued and can be computed; its head may go out.
struct sequence_admitted {
  request_id request;
};

/// scheduler -> parser: the request was not taken; nothing else follows.
struct sequence_refused {
  request_id request;
  error why;
};

/// scheduler -> executor: one step. Steps in flight: 1.
struct run_step {
  std::shared_ptr<const step_plan> plan;
};

/// executor -> scheduler: gives the step credit back.
struct step_done {
  std::shared_ptr<const step_result> result;
};
struct step_failed {
  step_id step;
  error why;
};

/// scheduler -> drafter: what to do between two steps. One at a time; the next step waits for the
/// answer, but not for ever.
struct propose {
  std::shared_ptr<const draft_plan> plan;
};
/// drafter -> scheduler: its answer. Too late, it only tells that the drafter is back.
struct proposed {
  std::shared_ptr<const draft_result> result;
};
/// supervisor (by way of the crew) -> scheduler: who drafts from now on.
struct drafter_changed {
  caf::actor drafter;
};
/// supervisor to itself: it is time for another drafter.
struct drafter_wanted {};

/// scheduler -> parser: one message per step, all sequences pinned to this parser.
struct tokens_ready {
  std::shared_ptr<const committed> step;
};

/// parser -> scheduler: a stop string was found in output token `output_index`. Idempotent.
struct end_sequence {
  sequence_id sequence;
  std::uint32_t output_index = 0;
};

/// parser -> frontend: one message per step; bytes per request and the tokens they stand for.
/// tokenizer -> frontend: the whole answer to a request that needs no step.
struct write_bytes {
  std::shared_ptr<const std::vector<answer_piece>> pieces;
};

/// parser or frontend -> scheduler: the client took these tokens.
struct window_returned {
  std::vector<sequence_tokens_taken> taken;
};

/// frontend, supervisor -> scheduler: idempotent. A frontend repeats it when bytes arrive for a
/// client that has gone, so that none is lost to message order.
struct cancel_request {
  request_id request;
  cancel_reason reason = cancel_reason::gone;
};

/// frontend -> scheduler: cached blocks that nobody uses are forgotten.
struct reset_prefix_cache {};

/// supervisor -> frontends: the engine's state, by value; scheduler -> supervisor likewise.
struct state_changed {
  engine_state state;
};

/// wiring -> executor: everybody knows everybody; load now, so that nobody misses the readiness.
struct load_model {};
/// executor -> supervisor: weights are packed, the device is warm.
struct executor_ready {};
/// executor -> supervisor: they are not, and never will be.
struct executor_failed {
  error why;
};

/// any actor with counters -> frontends: its metrics, by value, each second.
struct metrics_published {
  std::uint32_t source = 0;
  std::shared_ptr<const metrics> values;
};

/// supervisor -> all concerned: new work is refused from now on.
struct drain {};
/// frontend -> supervisor: no request of mine is open any more (sent once, after drain).
struct drained {};
/// supervisor -> scheduler, wiring -> frontends and client: cut what is open and leave.
struct leave {};

/// engine's owner -> client: a request of this process. Refused by its sink when there is no room.
struct client_request {
  client_ticket ticket;
  std::shared_ptr<const std::string> body;
  answer_sink sink;
};
/// engine's owner -> client: the answer is not wanted any more. Idempotent.
struct client_cancel {
  client_ticket ticket;
};

/// wiring -> scheduler: whom it talks to, once they exist.
struct peers_known {
  caf::actor executor;
  caf::actor supervisor;
  std::vector<caf::actor> parsers;
};
/// wiring -> supervisor: whom it watches and tells.
struct crew_known {
  caf::actor scheduler;
  caf::actor executor;
  std::vector<caf::actor> tokenizers;
  std::vector<caf::actor> parsers;
  std::vector<caf::actor> frontends;
};

/// An actor to itself: time has passed.
struct tick {};

}  // namespace glimmer::message

// Answers, plans and tokens travel as pointers to immutable values: in one process only.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::prepare_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::request_refused)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::open_answer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::submit_sequence)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::sequence_admitted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::sequence_refused)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::run_step)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::step_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::step_failed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::propose)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::proposed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::drafter_changed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::drafter_wanted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::tokens_ready)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::end_sequence)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::write_bytes)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::window_returned)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::cancel_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::reset_prefix_cache)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::credits_wanted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::credits_given)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::credits_recalled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::credits_returned)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::abort_requests)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::rules_changed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::state_changed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::load_model)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::executor_ready)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::executor_failed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::metrics_published)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::drain)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::drained)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::leave)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::client_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::client_cancel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::peers_known)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::crew_known)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::message::tick)
