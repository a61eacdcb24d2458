#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/scheduler.hpp"
#include "tests/simulation/dice.hpp"
#include "tests/simulation/fake_drafter.hpp"
#include "tests/simulation/fake_executor.hpp"

namespace glimmer {

/// What a simulated world has besides its seed.
struct world_options {
  std::uint32_t requests = 12;
  bool prefix_caching = false;
  bool faults = true;  ///< failing steps, dying executors and drafters, late and absurd drafts
  bool drafting = false;
};

/// One scheduler, one executor and perhaps a drafter without a model, and clients who submit, read
/// slowly or not at all, cancel, vanish and find stop strings, all by the throw of a seed. After
/// each event the books are checked; `complaint` keeps the first thing that was wrong.
class world {
 public:
  world(std::uint64_t seed, world_options options);

  /// Lives until every request has ended. Returns the first complaint, or an empty string.
  std::string live();

  /// Every stream as its client saw it, by sequence: what must not depend on chance in the
  /// engine.
  std::map<std::uint64_t, std::vector<token_id>> streams() const;
  /// Of all streams and the number of events: the same seed lives the same life.
  std::uint64_t digest() const;
  const scheduler_stats& last_stats() const { return last_stats_; }
  const fake_drafter& drafter() const { return drafter_; }
  std::uint64_t events() const { return events_; }

 private:
  /// How a client behaves.
  struct temper {
    bool reads_at_once = true;
    std::uint32_t read_percent = 100;       ///< chance per event that waiting tokens are read
    std::uint32_t stop_index = UINT32_MAX;  ///< the parser finds a stop string there
    std::uint32_t cancel_permille = 0;      ///< chance per event
    bool cancels_one_choice = false;
  };
  struct client {
    sequence_request request;
    std::uint32_t output_max = 0;  ///< of the request
    temper mood;
    bool submitted = false;
    bool refused = false;
    bool cancelled = false;
    std::uint32_t alive = 0;
    std::uint32_t prompt_logprobs = 0;  ///< told, by whichever choice computed the prompt
  };
  struct stream {
    std::size_t client = 0;
    std::shared_ptr<const sampling_params> params;
    std::vector<token_id> solo;  ///< what it must be, ended as ids and lengths end it
    end_cause solo_cause = end_cause::length;
    std::vector<token_id> tokens;
    std::uint32_t unread = 0;
    bool told_to_end = false;
    bool failed = false;  ///< a fault was planted into it
    bool finished = false;
  };

  static scheduler_config draw_config(dice& chance, world_options options);
  void draw_clients(world_options options);
  sequence_request draw_request(std::uint64_t number);
  std::vector<token_id> draw_prompt();

  void complain(const std::string& what);
  void event();
  void submit(client& c);
  bool cut_at_stop(std::vector<token_id>& solo, const sampling_params& params) const;
  void read(client& c);
  void disturb(client& c);
  void step();
  void draft();
  void spoil(step_result& result);
  void deliver(const committed& out);
  void deliver(const sequence_output& output);
  void deliver(const sequence_finished& ending);
  void check_cause(const stream& s, const sequence_finished& ending);
  void check_end();

  dice chance_;
  world_options options_;
  scheduler_config config_;
  scheduler scheduler_;
  fake_executor executor_;
  fake_drafter drafter_;
  time_point now_{};
  std::vector<client> clients_;
  std::map<std::uint64_t, stream> streams_;
  std::vector<std::vector<token_id>> known_prompts_;
  std::optional<step_plan> in_flight_;
  std::optional<draft_plan> drafting_;  // asked, not yet answered
  time_point asked_{};
  bool drafter_alive_ = false;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t events_ = 0;
  std::uint32_t idle_plans_ = 0;
  scheduler_stats last_stats_;
  std::string complaint_;
};

}  // namespace glimmer
