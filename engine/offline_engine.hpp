#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/events.hpp"
#include "base/result.hpp"
#include "base/sampling_params.hpp"
#include "engine/config.hpp"
#include "executor/proposer.hpp"
#include "executor/stepper.hpp"
#include "scheduler/scheduler.hpp"

namespace glimmer {

/// Everything that one choice of one request brought.
struct offline_output {
  std::vector<token_id> tokens;
  std::vector<token_logprob> logprobs;         ///< one per token, when asked for
  std::vector<token_logprob> prompt_logprobs;  ///< of prompt tokens 1, 2, ..., when asked for
  std::optional<sequence_finished> finished;   ///< absent while it runs
};

/// The whole engine in one thread, without actors: prompts in, tokens out. The reference that the
/// server's streams are compared with, and what benchmarks drive.
class offline_engine {
 public:
  /// Loads a checkpoint folder, and a draft head's where the settings name one, onto a CPU device.
  static result<std::unique_ptr<offline_engine>> load(const std::filesystem::path& folder,
                                                      const engine_settings& settings);

  /// An engine around any stepper, and any proposer where the config allows drafting.
  /// `check(config)` must pass.
  offline_engine(const scheduler_config& config, std::int64_t vocab_size,
                 std::unique_ptr<stepper> steps, std::unique_ptr<proposer> drafts = nullptr);
  ~offline_engine();

  /// Takes a prompt with `choices` answers; answer i draws with choice_seed(params.seed, i).
  /// Returns their ids in order. Refuses token ids outside of the vocabulary, and what the
  /// scheduler's admission refuses.
  result<std::vector<sequence_id>> submit(std::vector<token_id> prompt, sampling_params params,
                                          std::uint32_t choices = 1);

  /// Runs one step; false when nothing is left to do.
  bool step();
  /// Steps until every sequence has ended.
  void run();

  /// What `id` brought so far; asserts that it was submitted here.
  const offline_output& output(sequence_id id) const;

  /// Ends a sequence; it finishes as cancelled.
  void cancel(sequence_id id);

  scheduler_stats stats() const { return scheduler_.stats(); }
  /// The first broken rule of the scheduler's books, or nothing.
  std::optional<std::string> check_invariants() const { return scheduler_.check_invariants(); }
  std::int64_t vocab_size() const { return vocab_size_; }
  const std::string& summary() const { return summary_; }

 private:
  time_point now();
  void take(committed&& news);

  std::unique_ptr<device> device_;  // outlives the stepper
  std::unique_ptr<stepper> steps_;
  std::unique_ptr<proposer> drafts_;  // knows the stepper
  scheduler scheduler_;
  std::int64_t vocab_size_ = 0;
  std::string summary_;
  std::uint64_t ticks_ = 0;
  std::uint64_t last_id_ = 0;
  std::unordered_map<sequence_id, offline_output> outputs_;
};

}  // namespace glimmer
