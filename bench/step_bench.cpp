// Time of plan + commit per step, beside nothing else: the scheduler's own cost.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.hpp"
#include "bench/figure.hpp"
#include "scheduler/scheduler.hpp"

namespace glimmer {
namespace {

scheduler_config config_for(std::uint32_t running) {
  scheduler_config config;
  config.max_model_len = 131'072;
  config.max_num_seqs = running;
  config.max_num_batched_tokens = running + 2048;
  config.queued_tokens_max = 1 << 30;
  config.blocks = {running * 128, running * 160};
  return config;
}

/// The prompt is a function of `text`.
struct sample_request {
  std::uint64_t id = 0;
  std::uint64_t text = 0;
  std::uint32_t prompt_size = 0;
};

void admit(scheduler& sched, const sample_request& wanted) {
  const auto [id, text, prompt_size] = wanted;
  std::vector<token_id> prompt(prompt_size);
  for (std::uint32_t i = 0; i < prompt_size; ++i) {
    prompt[i] = static_cast<token_id>((text * 7919 + i) % 50'000);
  }
  sampling_params params;
  params.max_tokens = 1000;
  sequence_request request{
      .request = {id},
      .choices = {{.id = {id}, .params = std::make_shared<const sampling_params>(params)}},
      .prompt = std::make_shared<const std::vector<token_id>>(prompt),
      .token_window = 100'000};
  GLIMMER_ASSERT(sched.admit(std::move(request), {}), "the queue is long enough");
}

/// Answers a plan with one token per sampling sequence.
step_result answer(const step_plan& plan) {
  step_result result{.id = plan.id, .sequences = {}};
  for (const auto& rows : plan.sequences) {
    result.sequences.push_back({.id = rows.id});
    if (rows.sample) result.sequences.back().tokens = {7};
  }
  return result;
}

struct load {
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
};

/// A scheduler all of whose sequences decode.
scheduler decoding(load engine) {
  const auto [running, waiting] = engine;
  scheduler sched{config_for(running)};
  for (std::uint64_t id = 1; id <= running + waiting; ++id) admit(sched, {id, id, 500});
  while (sched.stats().running < running || sched.stats().generated_tokens < 2 * running) {
    sched.commit(answer(*sched.plan({})), {});
  }
  return sched;
}

void measure(load engine) {
  const auto [running, waiting] = engine;
  using clock = std::chrono::steady_clock;
  auto sched = decoding(engine);
  std::vector<double> microseconds;
  for (int i = 0; i < 400; ++i) {
    const auto start = clock::now();
    const auto plan = sched.plan({});
    const auto planned = clock::now();
    auto result = answer(*plan);
    const auto answered = clock::now();
    sched.commit(std::move(result), {});
    const auto spent = planned - start + (clock::now() - answered);
    microseconds.push_back(std::chrono::duration<double, std::micro>(spent).count());
  }
  std::ranges::sort(microseconds);
  const auto subject =
      std::to_string(running) + " running, " + std::to_string(waiting) + " waiting";
  figure_line{{.bench = "step", .subject = subject}}
      .add("us_p50", microseconds[200])
      .add("us_p99", microseconds[396])
      .print();
}

/// Time until a prompt of which all is cached has its first plan.
void measure_prefix(std::uint32_t prompt_size) {
  using clock = std::chrono::steady_clock;
  auto config = config_for(64);
  config.prefix_caching = true;
  config.blocks = {prompt_size / 8, 2048};
  scheduler sched{config};
  double best = 1e9;
  for (std::uint64_t id = 1; id < 10; ++id) {
    admit(sched, {id, 0, prompt_size});
    const auto start = clock::now();
    auto plan = sched.plan({});
    const std::chrono::duration<double, std::micro> spent = clock::now() - start;
    if (id > 1) best = std::min(best, spent.count());
    for (; plan; plan = sched.plan({})) {
      sched.commit(answer(*plan), {});
      if (sched.stats().generated_tokens >= id) sched.cancel_all(cancel_reason::abort);
    }
  }
  const auto subject = "cached prompt of " + std::to_string(prompt_size);
  figure_line{{.bench = "step", .subject = subject}}.add("us_best", best).print();
}

}  // namespace
}  // namespace glimmer

/// step_bench [--steps N [RUNNING]]: figures, or just so many steps, for whoever counts
/// instructions.
int main(int argc, char** argv) {
  if (argc >= 3 && std::string_view{argv[1]} == "--steps") {
    const auto running = argc > 3 ? static_cast<std::uint32_t>(std::atoi(argv[3])) : 256u;
    auto sched = glimmer::decoding({running, 0});
    for (int n = std::atoi(argv[2]); n > 0; --n) sched.commit(glimmer::answer(*sched.plan({})), {});
    return 0;
  }
  glimmer::measure({1, 0});
  glimmer::measure({256, 0});
  glimmer::measure({256, 10'000});
  glimmer::measure({1000, 0});
  glimmer::measure_prefix(100'000);
}
