#include "executor/executor.hpp"

#include <utility>

#include "base/assert.hpp"

namespace glimmer {
namespace {

batch_shape shape_of(const text_config& config, const kv_caches& caches) {
  return {.block_size = caches.layout().block_size,
          .window = config.window,
          .vocab_size = config.vocab_size,
          .blocks = {caches.blocks(kv_group::full), caches.blocks(kv_group::sliding)}};
}

}  // namespace

executor::executor(device& home, decoder model, kv_caches caches, executor_options options)
    : home_{&home},
      model_{std::move(model)},
      caches_{std::move(caches)},
      stream_{home.make_stream()},
      builder_{shape_of(model_.config(), caches_)},
      sampling_{std::move(options.end_tokens), options.sampling_threads},
      taps_{std::move(options.taps)},
      for_each_{[&home](std::size_t tasks, const std::function<void(std::size_t)>& body) {
        home.for_each(tasks, body);
      }} {}

executor::~executor() {
  home_->wait(home_->record(stream_));
}

result<step_result> executor::run(const step_plan& plan) {
  sampling_.begin(plan);
  copy_blocks(plan);
  last_step_ = plan.id;
  last_rows_ = static_cast<std::uint32_t>(plan.tokens.size());
  if (!plan.sequences.empty()) {
    builder_.build(plan, sampling_.wanted());
    const auto batch = builder_.upload(*home_, stream_);
    if (!batch) {
      sampling_.finish();
      return fail(batch.error());
    }
    // Nearly always one slice. Prompt logprobs can ask for more rows than there is room for: then
    // the step runs again for the next ones, and stores the same keys again.
    std::size_t begin = 0;
    do {
      const auto end = slice_end(begin);
      run_slice(*batch, sampling_.tasks().subspan(begin, end - begin));
      begin = end;
    } while (begin < sampling_.tasks().size());
  }
  return sampling_.finish();
}

draft_ground executor::ground() const {
  GLIMMER_ASSERT(taps_.has_value(), "an executor without taps keeps nothing for a draft head");
  return {.home = home_,
          .stream = stream_,
          .caches = &caches_,
          .features = taps_->features(),
          .target = {model_.weights().embedding, model_.weights().head},
          .vocab_size = model_.config().vocab_size};
}

void executor::copy_blocks(const step_plan& plan) {
  for (const auto& copy : plan.copies)
    caches_.copy_block(home_->operations(), stream_, copy.group, copy.from, copy.to);
}

/// The first task behind `begin` whose rows no longer fit the model's room for logits.
std::size_t executor::slice_end(std::size_t begin) const {
  const auto tasks = sampling_.tasks();
  std::int64_t rows = 0;
  auto end = begin;
  while (end < tasks.size() && rows + tasks[end].rows <= model_.limits().wanted_rows)
    rows += tasks[end++].rows;
  GLIMMER_ASSERT(end > begin || tasks.empty(), "one sequence's drafts fit");
  return end;
}

void executor::run_slice(const forward_batch& batch, std::span<const logit_task> tasks) {
  auto slice = batch;
  const std::int64_t begin = tasks.empty() ? 0 : tasks.front().begin;
  const std::int64_t rows = tasks.empty() ? 0 : tasks.back().begin + tasks.back().rows - begin;
  slice.wanted = batch.wanted.rows({begin, rows});
  const auto observer = taps_ ? taps_->observer(home_->operations(), stream_) : layer_observer{};
  const auto logits = model_.forward(stream_, slice, caches_, observer);
  logits_.resize(static_cast<std::size_t>(rows * model_.config().vocab_size));
  if (rows > 0) home_->download(stream_, std::as_writable_bytes(std::span{logits_}), logits);
  home_->wait(home_->record(stream_));
  sampling_.take(tasks, logits_, for_each_);
}

}  // namespace glimmer
