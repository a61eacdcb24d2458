// Cost of drawing one token from a full vocabulary, by kind of filter.

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "bench/figure.hpp"
#include "executor/sampler.hpp"

namespace glimmer {
namespace {

constexpr std::size_t vocab = 202'048;

/// Logits as a language model's: a bell with a few tokens far above.
std::vector<float> usual_row() {
  std::vector<float> row(vocab);
  for (std::size_t i = 0; i < vocab; ++i) {
    const double u = uniform_draw({.seed = 1, .position = i});
    row[i] = static_cast<float>(std::log(u / (1 - u)));
    if (i % 20'011 == 0) row[i] += 12;
  }
  return row;
}

template <class Call>
double best_milliseconds(const Call& call) {
  double best = 1e9;
  for (int run = 0; run < 15; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    call(static_cast<std::uint64_t>(run));
    const auto took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, std::chrono::duration<double, std::milli>(took).count());
  }
  return best;
}

void measure(const std::string& name, const sampling_params& params) {
  const auto row = usual_row();
  sampler s;
  const double ms = best_milliseconds([&](std::uint64_t i) { s.draw(row, params, i); });
  figure_line{{"sampling", name}}.add("row_ms", ms).print();
}

}  // namespace
}  // namespace glimmer

int main() {
  using namespace glimmer;
  measure("greedy", {.temperature = 0});
  measure("temperature", {});
  measure("top_k 50", {.top_k = 50});
  measure("top_p 0.95", {.top_p = 0.95f});
  measure("min_p 0.05", {.min_p = 0.05f});
  measure("top_k 50, top_p 0.95, min_p 0.05", {.top_p = 0.95f, .min_p = 0.05f, .top_k = 50});
  const auto row = usual_row();
  sampler s;
  const double ms = best_milliseconds([&](std::uint64_t) { s.logprob_of(row, 7, 20); });
  figure_line{{"sampling", "20 logprobs"}}.add("row_ms", ms).print();
}
