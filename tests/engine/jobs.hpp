#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "engine/offline_engine.hpp"

namespace glimmer {

inline void check_same(const std::vector<token_logprob>& a, const std::vector<token_logprob>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    BOOST_TEST(a[i].token == b[i].token);
    BOOST_TEST((a[i].logprob == b[i].logprob));  // bits, not nearness
    BOOST_TEST((a[i].top == b[i].top));
  }
}

/// Same tokens, same bits of every logprob, same ending.
inline void check_same(const offline_output& a, const offline_output& b) {
  BOOST_TEST(a.tokens == b.tokens, boost::test_tools::per_element());
  check_same(a.logprobs, b.logprobs);
  check_same(a.prompt_logprobs, b.prompt_logprobs);
  BOOST_REQUIRE(a.finished.has_value());
  BOOST_REQUIRE(b.finished.has_value());
  BOOST_TEST((a.finished->cause == b.finished->cause));
}

inline void check_same(const std::vector<offline_output>& a, const std::vector<offline_output>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) check_same(a[i], b[i]);
}

/// One request.
struct job {
  std::vector<token_id> prompt;
  sampling_params params;
  std::uint32_t choices = 1;
};

struct job_shape {
  std::uint32_t count = 0;
  std::uint32_t vocab = 0;
  std::uint32_t prompt_max = 90;
  std::uint32_t output_max = 60;
};

/// Jobs of every kind, from a seed that is printed.
inline std::vector<job> random_jobs(const job_shape& shape, std::uint64_t seed) {
  BOOST_TEST_MESSAGE("random_jobs seed " << seed);
  std::uint64_t draws = 0;
  const auto below = [&](std::uint32_t n) {
    return static_cast<std::uint32_t>(uniform_draw({.seed = seed, .position = draws++}) * n);
  };
  std::vector<job> jobs(shape.count);
  for (auto& j : jobs) {
    j.prompt.resize(1 + below(shape.prompt_max));
    for (auto& token : j.prompt) token = static_cast<token_id>(1 + below(shape.vocab - 1));
    j.params.temperature = below(3) == 0 ? 0.0f : 0.9f;
    j.params.top_k = below(2) == 0 ? 0 : 12;
    j.params.repetition_penalty = below(2) == 0 ? 1.0f : 1.2f;
    j.params.seed = seed + below(1000);
    j.params.max_tokens = 1 + below(shape.output_max);
    j.params.min_tokens = below(20);
    if (below(2) == 0) j.params.logprobs = below(4);
    if (below(4) == 0) j.params.prompt_logprobs = below(3);
    j.choices = below(4) == 0 ? 1 + below(4) : 1;
  }
  return jobs;
}

/// All jobs in one engine at once; one output per choice.
inline std::vector<offline_output> run_together(offline_engine& engine,
                                                const std::vector<job>& jobs) {
  std::vector<sequence_id> all;
  for (const auto& j : jobs) {
    const auto ids = engine.submit(j.prompt, j.params, j.choices);
    BOOST_REQUIRE_MESSAGE(ids.has_value(), (ids ? "" : ids.error().text));
    all.insert(all.end(), ids->begin(), ids->end());
  }
  engine.run();
  const auto broken = engine.check_invariants();
  BOOST_TEST(!broken.has_value(), broken.value_or(""));
  std::vector<offline_output> out;
  for (const auto id : all) out.push_back(engine.output(id));
  return out;
}

}  // namespace glimmer
