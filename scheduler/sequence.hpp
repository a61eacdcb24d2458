#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/sampling_params.hpp"
#include "scheduler/acceptance_record.hpp"
#include "scheduler/block_manager.hpp"
#include "scheduler/policy.hpp"
#include "scheduler/step.hpp"
#include "scheduler/token_view.hpp"

namespace glimmer {

/// Where a sequence stands. Only a running one holds a run slot.
///
///     following ──prompt computed──> waiting <──> running ──> parked ──grant──> waiting
///                                       any of them ──> ended
enum class sequence_state : std::uint8_t {
  following,  ///< another choice of its request computes the prompt for it
  waiting,    ///< wants a run slot; may hold blocks
  running,    ///< in every step until it ends, parks or is preempted
  parked,     ///< its window is used up; may hold blocks
  ended,      ///< told as finished; its blocks wait for the step in flight
};

/// One token stream: what was asked, how far it is, what it holds. Plain counts and ids.
///
///     tokens    [ prompt ............... | output ... )   total()
///     KV        [ computed ....... )                      computed <= total()
struct sequence {
  sequence_id id;
  request_id request;
  queue_key key;
  std::shared_ptr<const std::vector<token_id>> prompt;
  std::shared_ptr<const sampling_params> params;
  std::shared_ptr<const std::string> cache_salt;
  std::optional<time_point> deadline;
  std::uint32_t output_max = 0;

  sequence_state state = sequence_state::waiting;
  std::vector<token_id> output;
  std::uint32_t computed = 0;
  std::uint32_t cached = 0;  ///< of the prompt, found in the prefix cache at the first start
  std::uint32_t window = 0;  ///< tokens that may still be sent to the client
  sequence_blocks blocks;
  std::vector<token_id> drafts;        ///< proposals for what follows the last token; may be none
  acceptance_record acceptance{0.9f};  ///< of its own drafts

  bool in_step = false;               ///< has rows in the step in flight
  bool in_draft = false;              ///< has rows in the draft plan in flight
  bool on_executor = false;           ///< the executor holds a sampler for it
  bool queued = true;                 ///< has not had a run slot yet
  std::uint32_t queued_tokens = 0;    ///< its part of the tokens that wait for a first step
  std::uint32_t fruitless_steps = 0;  ///< in a row that should have given a token and did not
  std::uint32_t prompt_told = 1;      ///< first prompt token whose logprob is still to be told
  time_point parked_since{};

  sequence* leader = nullptr;        ///< while following
  std::vector<sequence*> followers;  ///< choices that wait for this one's prompt

  std::uint32_t prompt_size() const { return static_cast<std::uint32_t>(prompt->size()); }
  std::uint32_t total() const { return prompt_size() + static_cast<std::uint32_t>(output.size()); }
  std::uint32_t pending() const { return total() - computed; }
  token_view tokens() const { return {.prompt = *prompt, .output = output}; }
  token_id token(std::uint32_t position) const {
    return position < prompt_size() ? (*prompt)[position] : output[position - prompt_size()];
  }
  /// Appends tokens [position, position + count) to `out`.
  void copy_tokens(std::uint32_t position, std::size_t count, std::vector<token_id>& out) const;
};

}  // namespace glimmer
