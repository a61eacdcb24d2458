#include "executor/draft_runner.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "executor/candidates.hpp"

namespace glimmer {
namespace {

draft_shape shape_of(const draft_ground& ground, const draft_head_config& config) {
  return {.block_size = ground.caches->layout().block_size,
          .blocks = ground.caches->blocks(kv_group::sliding),
          .drafts_max = config.drafts_max(),
          .mask_token = config.mask_token,
          .vocab_size = ground.vocab_size,
          .feature_rows = ground.features.shape[0]};
}

}  // namespace

draft_runner::draft_runner(executor& steps, draft_head head)
    : steps_{&steps},
      ground_{steps.ground()},
      head_{std::move(head)},
      builder_{shape_of(ground_, head_.config())} {
  GLIMMER_ASSERT(ground_.features.shape[1] == head_.config().feature_width(),
                 "the executor taps what the head takes");
  GLIMMER_ASSERT(ground_.caches->layout().draft_layers == head_.config().layers,
                 "the caches hold this head's layers");
}

draft_runner::~draft_runner() {
  ground_.home->wait(ground_.home->record(ground_.stream));
}

result<draft_result> draft_runner::run(const draft_plan& plan) {
  GLIMMER_ASSERT(plan.id == steps_->last_step(), "residuals are those of the last step");
  for (const auto& rows : plan.sequences)
    GLIMMER_ASSERT(rows.count == 0 || rows.row + rows.count <= steps_->last_rows(),
                   "committed rows were rows of the step");
  builder_.build(plan);
  if (auto sent = builder_.upload(*ground_.home, ground_.stream); !sent) return fail(sent.error());
  head_.extend_context(ground_.stream, builder_.context(ground_.features), *ground_.caches);

  draft_result answer{plan.id, {}};
  std::size_t drafts = 0;
  for (const auto& rows : plan.sequences) drafts += rows.drafts;
  std::vector<token_id> best(drafts);
  propose(best);
  auto next = best.begin();
  for (const auto& rows : plan.sequences) {
    if (rows.drafts == 0) continue;
    answer.sequences.push_back({rows.id, {next, next + rows.drafts}});
    next += rows.drafts;
  }
  return answer;
}

/// One token for each wanted row of the batch.
void draft_runner::propose(std::span<token_id> best) {
  if (!best.empty()) {
    const auto rows =
        head_.run_blocks(ground_.stream, builder_.blocks(), *ground_.caches, ground_.target);
    const auto slice = static_cast<std::size_t>(head_.limits().logit_rows);
    for (std::size_t begin = 0; begin < best.size(); begin += slice) {
      const auto count = std::min(slice, best.size() - begin);
      const auto part =
          rows.rows({static_cast<std::int64_t>(begin), static_cast<std::int64_t>(count)});
      const auto z = head_.logits(ground_.stream, part, ground_.target);
      logits_.resize(static_cast<std::size_t>(z.count()));
      ground_.home->download(ground_.stream, std::as_writable_bytes(std::span{logits_}), z);
      ground_.home->wait(ground_.home->record(ground_.stream));
      take_best(logits_, best.subspan(begin, count));
    }
  }
  ground_.home->wait(ground_.home->record(ground_.stream));
}

void draft_runner::take_best(std::span<const float> logits, std::span<token_id> best) {
  const auto width = static_cast<std::size_t>(ground_.vocab_size);
  ground_.home->for_each(best.size(), [&](std::size_t row) {
    const auto values = logits.subspan(row * width, width);
    const auto maximum = row_maximum(values);
    // A broken row proposes something too; that it is wrong costs a rejection and nothing else.
    best[row] = maximum ? lowest_argmax(values, *maximum) : 0;
  });
}

}  // namespace glimmer
