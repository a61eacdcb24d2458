// Tokens per second of the whole engine without a server, for prompts and for decoding:
//   offline_bench MODEL_DIR [PROMPT_TOKENS [OUTPUT_TOKENS [THREADS]]]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/figure.hpp"
#include "engine/offline_engine.hpp"

namespace glimmer {
namespace {

struct workload {
  std::uint32_t batch = 1;
  std::uint32_t prompt = 0;
  std::uint32_t output = 0;
};

using seconds = std::chrono::duration<double>;
using wall = std::chrono::steady_clock;

/// Steps until each of `ids` has at least `tokens` tokens; returns how long it took.
double time_until(offline_engine& engine, const std::vector<sequence_id>& ids, std::size_t tokens) {
  const auto begin = wall::now();
  const auto waits = [&](sequence_id id) { return engine.output(id).tokens.size() < tokens; };
  while (std::any_of(ids.begin(), ids.end(), waits) && engine.step()) {
  }
  return seconds(wall::now() - begin).count();
}

bool measure(offline_engine& engine, const workload& w) {
  std::vector<sequence_id> ids;
  for (std::uint32_t i = 0; i < w.batch; ++i) {
    std::vector<token_id> prompt(w.prompt);
    for (std::uint32_t t = 0; t < w.prompt; ++t)
      prompt[t] = static_cast<token_id>((t * 7 + i * 13) % 800);
    const auto taken = engine.submit(
        std::move(prompt),
        {.seed = i, .max_tokens = w.output, .min_tokens = w.output, .ignore_eos = true});
    if (!taken) {
      std::fprintf(stderr, "offline_bench: %s\n", taken.error().text.c_str());
      return false;
    }
    ids.push_back(taken->front());
  }
  const double prefill = time_until(engine, ids, 1);
  const double decode = time_until(engine, ids, w.output);
  const double batch = w.batch;
  figure_line{{"offline", "batch " + std::to_string(w.batch)}}
      .add("prefill_tokens_per_second", batch * w.prompt / prefill)
      .add("decode_tokens_per_second", batch * (w.output - 1) / decode)
      .add("decode_step_ms", 1000 * decode / (w.output - 1))
      .print();
  return true;
}

int run(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t i, std::uint32_t otherwise) {
    return arguments.size() > i
               ? static_cast<std::uint32_t>(std::strtoul(arguments[i].c_str(), nullptr, 10))
               : otherwise;
  };
  const auto prompt = std::max(1u, number(1, 256));
  const auto output = std::max(2u, number(2, 32));
  auto engine = offline_engine::load(
      arguments[0],
      {.max_model_len = prompt + output, .max_num_seqs = 32, .threads = number(3, 0)});
  if (!engine) {
    std::fprintf(stderr, "offline_bench: %s\n", engine.error().text.c_str());
    return 2;
  }
  for (const std::uint32_t batch : {1, 4, 32})
    if (!measure(**engine, {batch, prompt, output})) return 1;
  return 0;
}

}  // namespace
}  // namespace glimmer

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty()) return glimmer::run(arguments);
  std::fprintf(stderr,
               "usage: offline_bench MODEL_DIR [PROMPT_TOKENS [OUTPUT_TOKENS [THREADS]]]\n");
  return 2;
}
