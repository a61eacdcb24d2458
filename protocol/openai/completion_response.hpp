#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/request.hpp"
#include "protocol/openai/answer_writer.hpp"

namespace glimmer {

/// One prompt of a completions request, as its answers show it.
struct completion_prompt {
  std::uint32_t tokens = 0;
  std::string echo;                    ///< its text, when it is to precede the answer
  std::vector<std::string> spellings;  ///< of its tokens, when they are to be scored
  std::vector<token_id> token_ids;     ///< shown with return_token_ids
};

/// Makes the body of a completions answer; choices are numbered prompt by prompt, and a stream
/// introduces them in that order.
class completion_answer final : public answer_writer {
 public:
  completion_answer(response_options options, response_identity identity,
                    std::vector<completion_prompt> prompts);

  void begin(const sequence_usage& prompt, std::string& out) override;
  void add_prompt(std::uint32_t prompt, std::span<const spelled_logprob> logprobs) override;
  void add(std::uint32_t choice, const choice_delta& delta, std::string& out) override;
  void finish(std::uint32_t choice, const choice_end& end, std::string& out) override;
  void end(std::string& out) override;
  void abort(const error& why, std::string& out) override;

  /// Tokens of all choices so far; each prompt counts once.
  sequence_usage usage() const;

 private:
  /// The parallel lists of "logprobs", as JSON entries with commas between.
  struct logprob_lists {
    std::string tokens;
    std::string logprobs;
    std::string top;
    std::string offsets;
  };
  struct choice_state {
    std::string text;  // unary: all of it; stream: not yet sent
    std::vector<token_id> tokens;
    logprob_lists scores;          // of what `text` says
    std::uint64_t characters = 0;  // of the tokens so far: the next one's offset
    double logprob_sum = 0;
    bool prompt_shown = false;
    bool finished = false;
    sequence_usage usage;
    choice_end end;
  };
  struct prompt_state {
    completion_prompt shown;
    std::vector<spelled_logprob> scores;  // from the second token on
  };

  std::uint32_t prompt_of(std::uint32_t choice) const { return choice / options_.sequences(); }
  void show_prompt(std::uint32_t index);
  void score(choice_state& choice, const spelled_logprob& entry) const;
  void append_scores(const choice_state& choice, std::string& out) const;
  void append_chunk(std::uint32_t index, const choice_end* end, std::string& out);
  void append_choice(std::uint32_t number, choice_state& choice, const prompt_state& prompt,
                     std::string& out) const;
  std::vector<std::uint32_t> best_of(std::uint32_t prompt) const;

  response_options options_;
  response_identity identity_;
  std::string head_;  // the bytes before the first choice, the same in every chunk
  std::vector<prompt_state> prompts_;
  std::vector<choice_state> choices_;
};

}  // namespace glimmer
