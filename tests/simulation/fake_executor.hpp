#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/sampling_params.hpp"
#include "scheduler/scheduler_config.hpp"
#include "scheduler/step.hpp"

namespace glimmer {

/// What a sequence's KV at a position should be: a hash of all tokens up to it.
std::uint64_t content_after(std::uint64_t content, token_id token);
/// What an executor says: `chance` is drawn from the seed and everything before.
struct next_word {
  std::uint64_t chance = 0;
  std::uint32_t output_index = 0;
};
using voice = std::function<token_id(const sampling_params&, next_word)>;
/// One of 64 tokens.
token_id babble(const sampling_params& params, next_word next);

/// The token at `output_index`, drawn from the seed and everything before.
token_id token_after(std::uint64_t content, const sampling_params& params,
                     std::uint32_t output_index, const voice& says = babble);
/// The first `count` output tokens of a sequence that has the engine for itself.
std::vector<token_id> solo_stream(const std::vector<token_id>& prompt,
                                  const sampling_params& params, std::uint32_t count,
                                  const voice& says = babble);

/// An executor without a model. Its KV cells hold hashes of the whole prefix, and each row checks
/// every cell it may see, through the block tables it was given: a block shared wrongly, released
/// too early, not copied, or not recomputed shows at once. Collects the first complaint.
class fake_executor {
 public:
  explicit fake_executor(const scheduler_config& config, voice says = babble);

  step_result run(const step_plan& plan);
  /// A new device: all KV and samplers are gone.
  void restart();
  const std::string& complaint() const { return complaint_; }
  /// All tokens of a sequence that is started and not dropped, as far as they were sampled.
  const std::vector<token_id>* tokens_of(sequence_id id) const;
  /// What will be sampled next.
  std::vector<token_id> continuation(sequence_id id, std::uint32_t count) const;
  std::size_t samplers() const { return samplers_.size(); }
  std::uint64_t rows() const { return rows_; }

 private:
  struct sampler {
    std::shared_ptr<const sampling_params> params;
    std::uint32_t prompt_size = 0;
    std::vector<token_id> tokens;         // prompt and output
    std::vector<std::uint64_t> contents;  // what each position's KV should be
  };
  using cells = std::vector<std::uint64_t>;

  void complain(const sequence_rows& rows, const std::string& what);
  void meet(const step_plan& plan);
  void copy(const kv_block_copy& copy);
  sequence_tokens run_rows(const step_plan& plan, const sequence_rows& rows);
  void run_row(const step_plan& plan, const sequence_rows& rows, std::uint32_t at);
  void write(const step_plan& plan, const sequence_rows& rows, std::uint32_t position);
  void sample(sampler& s, sequence_tokens& got) const;
  std::optional<std::size_t> cell(const step_plan& plan, const block_table& table,
                                  std::uint32_t position) const;
  void append(sampler& s, token_id token) const;

  scheduler_config config_;
  voice says_;
  std::array<cells, kv_group_count> kv_;
  std::unordered_map<sequence_id, sampler> samplers_;
  std::unordered_set<std::uint64_t> written_;  // cells written in this step
  std::uint64_t steps_ = 0;
  std::uint64_t rows_ = 0;
  std::string complaint_;
};

}  // namespace glimmer
