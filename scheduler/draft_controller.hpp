#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/acceptance_record.hpp"
#include "scheduler/cost_curve.hpp"
#include "scheduler/drafting.hpp"

namespace glimmer {

/// The next step as far as it is known.
struct draft_load {
  std::uint32_t prompts = 0;      ///< sequences whose prompt is being computed
  std::uint32_t prompt_rows = 0;  ///< their rows
  std::uint32_t room = 0;         ///< rows that drafts may take
};

/// A sequence that decodes in the next step.
struct draft_candidate {
  std::uint32_t tokens_max = 0;
  const acceptance_record* record = nullptr;  ///< nullptr: nothing is known of it
};

struct draft_decision {
  /// Write context rows. Without them the head knows nothing of these positions, for as long as
  /// they are in its window.
  bool context = true;
  std::vector<std::uint32_t> tokens;  ///< drafts per candidate, in order
};

/// What a step was, and what it cost.
struct verify_cost {
  std::uint32_t streams = 0;      ///< sequences that decoded, one row each
  std::uint32_t draft_rows = 0;   ///< behind them
  std::uint32_t prompt_rows = 0;  ///< all other rows
  std::uint32_t tokens = 0;       ///< that the streams got
  duration time{};
};

/// What a draft plan was, and what it cost.
struct draft_cost {
  std::uint32_t rows = 0;  ///< of blocks: anchors and drafts
  duration time{};
};

/// Chooses how many tokens to draft so that the expected tokens per second are highest:
///
///     tokens of the step         streams + sum of the chances that each draft is reached
///     time                       step(rows + drafts) + draft(blocks)
///
/// step and draft are learned curves, the chances learned per sequence and position. Drafts are
/// bought one by one, the likeliest first, so lengths differ within a step.
///
/// Never much slower than no drafting, whatever the model of costs believes: a ledger books for
/// every round the time that the same tokens would have taken without drafts, less the time they
/// took. It starts with a few steps' worth, earns 1 % of all time, and nothing is drafted while it
/// is empty. What no drafting takes is measured again from time to time.
class draft_controller {
 public:
  explicit draft_controller(const drafting_config& config) : config_{config} {}

  draft_decision decide(const draft_load& load, std::span<const draft_candidate> candidates);

  void observe(const verify_cost& step);
  void observe(const draft_cost& drafting);
  void observe(const draft_round& round) { all_.observe(round); }

 private:
  enum class mood : std::uint8_t {
    drafting,  ///< it pays
    watching,  ///< it does not, but may soon: context rows are written
    resting,   ///< nothing is asked of the drafter
  };
  struct choice {
    std::vector<std::uint32_t> tokens;
    double gain = 0;  ///< expected tokens per second, relative to no drafting
  };

  choice best_of(const draft_load& load, std::span<const draft_candidate> candidates) const;
  draft_decision probe(std::span<const draft_candidate> candidates);
  bool affordable(double extra_time) const { return extra_time <= balance_; }

  drafting_config config_;
  cost_curve steps_;
  cost_curve drafts_;
  acceptance_record all_{0.98f};
  mood mood_ = mood::drafting;
  double balance_ = 0;     // ns
  double plain_step_ = 0;  // ns, of the last step's streams without drafts
  double draft_time_ = 0;  // ns, of the drafts that the next step verifies
  bool funded_ = false;
  bool broke_ = false;             // until the ledger has recovered
  std::uint32_t watched_ = 0;      // decisions since drafting paid
  std::uint32_t probe_left_ = 0;   // rounds of the probe under way
  std::uint32_t since_probe_ = 0;  // decisions
};

/// Lengths up to each sequence's own bound whose sum is at most `room`, as even as can be.
std::vector<std::uint32_t> even_lengths(std::span<const draft_candidate> candidates,
                                        std::uint32_t room);

}  // namespace glimmer
