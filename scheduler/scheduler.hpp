#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "scheduler/admission.hpp"
#include "scheduler/block_manager.hpp"
#include "scheduler/draft.hpp"
#include "scheduler/draft_controller.hpp"
#include "scheduler/fair_share.hpp"
#include "scheduler/run_queues.hpp"
#include "scheduler/scheduler_config.hpp"
#include "scheduler/scheduler_stats.hpp"
#include "scheduler/sequence_output.hpp"
#include "scheduler/sequence_request.hpp"
#include "scheduler/step.hpp"
#include "scheduler/step_budget.hpp"
#include "scheduler/step_builder.hpp"

namespace glimmer {

/// Decides which tokens are computed when, and where their keys and values lie.
///
///     admit ──> plan ──> (executor) ──> commit ──> outputs, endings
///                ^                        │
///                └── take_drafts <── (drafter) <── plan_drafts, while there is a drafter
///
/// A pure state machine: time is an argument, no call blocks, the same calls give the same
/// plans. Not thread-safe; belongs to one actor or loop. After any call endings may wait:
/// fetch them with `take_finished`. Every admitted choice ends exactly once.
class scheduler {
 public:
  /// The config must pass `check`.
  explicit scheduler(scheduler_config config);

  /// Takes all choices of a request or none. Refusals say their arithmetic:
  /// `context_length_exceeded`, `kv_capacity_exceeded` (bad_request: will never fit),
  /// `queue_full` (overloaded: may pass later).
  result<admission> admit(sequence_request request, time_point now);
  /// The same for a request with several prompts: all of them or none.
  result<std::vector<admission>> admit(std::vector<sequence_request> prompts, time_point now);

  /// Ends sequences; unknown ids are ignored. Returns how many ended by this call. Their blocks
  /// come back when the step in flight has returned.
  std::uint32_t cancel(request_id request, cancel_reason reason);
  std::uint32_t cancel(sequence_id id, cancel_reason reason);

  /// The parser found a stop string or the end of the turn in the token at `output_index`: that
  /// token is the last one that counts, later ones are dropped and not billed. Idempotent.
  void end(sequence_id id, std::uint32_t output_index);

  /// The client took `tokens`: they are added to the sequence's window. Unknown ids are ignored.
  void grant(sequence_id id, std::uint32_t tokens);

  /// The next step, or nothing while one is in flight or nobody can run. Also ends what is past
  /// its deadline or parked too long, so call it at `next_timeout` too.
  std::optional<step_plan> plan(time_point now);

  /// Books the answer to the plan in flight. The ids must match; tokens are 0 ... drafts + 1 +
  /// ahead per sampling sequence.
  committed commit(step_result result, time_point now);

  /// A drafter is there (again), or will not answer any more. Without one steps go on as if there
  /// had never been any: no token depends on it. Pre: the config allows drafting.
  void drafter_ready();
  void drafter_lost();

  /// After each commit: what the drafter is to do with that step, or nothing. Until the answer
  /// (or `drafting_config::wait_max`) `plan` returns nothing, because the device, the step's
  /// residuals and the blocks of its sequences belong to the drafter.
  std::optional<draft_plan> plan_drafts(time_point now);
  /// The drafter's answer. A late one only tells that it is back.
  void take_drafts(const draft_result& result, time_point now);
  /// It could not. Nothing was written that anybody will look at.
  void drafts_failed(step_id id);

  /// The step in flight failed: every sequence in it ends with `error`.
  void fail_step(step_id id, time_point now);

  /// The executor was replaced, its device memory is empty: a step in flight is forgotten and
  /// every sequence is computed again from its tokens. Clients notice only a pause.
  void restart(time_point now);

  /// What may wait, and how long a client may leave its tokens unread, from now on.
  struct waiting_limits {
    std::uint64_t queued_tokens_max = 0;
    duration parked_max{};
  };
  void change_limits(const waiting_limits& limits);

  /// Ends everything, e.g. at the end of a drain.
  void cancel_all(cancel_reason reason);

  /// Endings that did not come with `commit`, in order; each is handed out once.
  std::vector<sequence_finished> take_finished();

  /// Earliest time at which `plan` has something to end; nothing when no clock runs.
  std::optional<time_point> next_timeout() const;

  /// No sequence is alive and no step in flight.
  bool idle() const;

  scheduler_stats stats() const;

  /// Forgets all unused cached blocks.
  void reset_prefix_cache();

  /// The first broken rule of the books in words, or nothing. Linear in blocks and sequences.
  std::optional<std::string> check_invariants() const;

 private:
  enum class drafter_state : std::uint8_t { absent, ready, late };
  /// Rows of the last step that were committed and that the drafter may read.
  struct drafted_rows {
    sequence* owner = nullptr;
    std::uint32_t row = 0;
    std::uint32_t position = 0;
    std::uint32_t count = 0;
    std::uint32_t drafts = 0;  ///< asked for
  };
  struct draft_in_flight {
    step_id id;
    time_point planned{};
    duration wait_max{};
  };
  /// The step before: its id, and what the next one will probably be like.
  struct last_step {
    step_id id;
    duration time{};
    std::uint32_t prompt_rows = 0;
  };

  struct ending {
    end_cause cause = end_cause::error;
    std::optional<cancel_reason> reason = {};
    std::optional<token_id> stop_token = {};
  };

  // A sequence's life.
  result<std::vector<admission>> judge(std::span<const sequence_request> prompts) const;
  void enqueue(const sequence_request& prompt, std::uint32_t output_max);
  sequence& create(const sequence_request& request, const sequence_choice& choice,
                   std::uint32_t output_max);
  void start(sequence& s, const prefix_hit& hit);
  void preempt(sequence& s);
  void fork_followers(sequence& s);
  void finish(sequence& s, ending why);
  void finish(sequence& s, ending why, std::uint32_t output_tokens);
  void retire(sequence& s);
  void hand_over(sequence& leader);
  void expire(time_point now);
  sequence* find(sequence_id id);
  bool has_work() const;

  // Planning.
  block_need needed(const sequence& s) const;
  void admit_waiting();
  std::optional<prefix_hit> make_room(sequence& s, block_need reserved);
  prefix_hit hit_of(const sequence& s) const;
  std::uint64_t positions_wanted(const sequence& s) const;
  void plan_running(step_builder& step);
  struct rows_set_aside {
    std::uint32_t rows = 0;
  };
  std::uint32_t row_budget(std::span<const token_demand> demands, rows_set_aside aside) const;
  std::uint32_t back_rows(sequence& s, std::uint32_t rows, block_need spared);
  std::uint32_t back_ahead(const sequence& s, std::uint32_t rows, block_need spared) const;

  // Drafting.
  struct draft_shape {
    std::uint32_t streams = 0;  ///< sequences that decode
    std::uint32_t prompts = 0;  ///< all others that run
  };
  static draft_shape shape_of(std::span<sequence* const> running);
  std::uint32_t draft_room(draft_shape shape) const;
  std::uint32_t draft_limit(const sequence& s) const;
  std::uint32_t draft_rows(std::span<sequence* const> running) const;
  std::uint32_t back_drafts(const sequence& s, std::uint32_t room, block_need spared) const;
  void note_for_draft(sequence& s, const planned_rows& rows);
  struct sampled_tokens {
    std::uint32_t sampled = 0;
    std::size_t kept = 0;
  };
  void count_round(const planned_rows& rows, sampled_tokens tokens);
  draft_decision choose_lengths();
  void add_rows(draft_plan& plan, drafted_rows& rows);
  bool waits_for_drafts(time_point now);
  void settle_draft();
  void forget_draft();

  // Committing.
  struct step_yield {
    std::size_t tokens = 0;  ///< of streams
    duration time{};
  };
  void learn(const step_in_flight& step, step_yield brought);
  void apply(const planned_rows& rows, sequence_tokens& got, time_point now, committed& out);
  void advance(sequence& s, const planned_rows& rows, std::size_t tokens);
  std::optional<ending> deliver(sequence& s, sequence_tokens& got, sequence_output& out);
  void tell_prompt(sequence& s, sequence_tokens& got, const planned_rows& rows,
                   sequence_output& out);

  scheduler_config config_;
  block_manager blocks_;
  admission_rules rules_;
  run_queues queues_;
  fair_share share_;
  std::unordered_map<sequence_id, std::unique_ptr<sequence>> sequences_;
  std::unordered_map<request_id, std::vector<sequence_id>> requests_;
  std::set<std::pair<time_point, sequence_id>> deadlines_;

  std::optional<step_in_flight> step_;
  drafter_state drafter_ = drafter_state::absent;
  std::vector<drafted_rows> drafted_;  // of the last commit, until the drafter is done with them
  std::optional<draft_in_flight> draft_;
  step_pace pace_;
  draft_controller lengths_;
  last_step last_step_;
  step_builder::sizes last_sizes_;
  std::uint64_t steps_ = 0;
  std::vector<sequence_id> dropped_;  // samplers the executor may forget, told with the next plan
  std::vector<sequence_finished> finished_;
  bool had_work_ = false;

  queue_load queue_;  // prompt tokens and sequences without a first step
  scheduler_stats counters_;
};

}  // namespace glimmer
