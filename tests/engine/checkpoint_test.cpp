// The whole engine on small real checkpoints: nothing that shares a batch, a chunk, a pool or a
// thread with a sequence may change a bit of what it gets.

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "engine/offline_engine.hpp"
#include "tests/engine/jobs.hpp"
#include "tools/make_checkpoint/checkpoint_writer.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(checkpoint_test)

/// A checkpoint in a folder of its own, gone at the end.
class made_checkpoint {
 public:
  explicit made_checkpoint(const std::string& recipe)
      : folder_{std::filesystem::temp_directory_path() /
                ("glimmer-engine-" + recipe + "-" + std::to_string(::getpid()))} {
    const auto found = find_recipe(recipe);
    BOOST_REQUIRE(found.has_value());
    const auto written = write_checkpoint(*found, folder_, {});
    BOOST_REQUIRE_MESSAGE(written.has_value(), (written ? "" : written.error().text));
  }
  ~made_checkpoint() { std::filesystem::remove_all(folder_); }
  made_checkpoint(const made_checkpoint&) = delete;

  std::unique_ptr<offline_engine> load(const engine_settings& settings) const {
    auto engine = offline_engine::load(folder_, settings);
    BOOST_REQUIRE_MESSAGE(engine.has_value(), (engine ? "" : engine.error().text));
    return std::move(*engine);
  }

 private:
  std::filesystem::path folder_;
};

/// Room for everything; tests change what they are about.
engine_settings roomy() {
  return {.max_model_len = 256,
          .max_num_seqs = 48,
          .max_num_batched_tokens = 512,
          .kv_cache_bytes = 64 << 20,
          .threads = 1};
}

std::vector<job> some_jobs(std::uint32_t count, std::uint64_t seed) {
  return random_jobs({.count = count, .vocab = 896, .prompt_max = 100, .output_max = 24}, seed);
}

std::vector<offline_output> one_by_one(offline_engine& engine, const std::vector<job>& jobs) {
  std::vector<offline_output> out;
  for (const auto& j : jobs)
    for (auto& o : run_together(engine, {j})) out.push_back(std::move(o));
  return out;
}

BOOST_AUTO_TEST_CASE(a_batch_of_32_brings_each_request_the_same_bits_as_alone) {
  for (const auto* recipe : {"tiny", "tiny-odd", "tiny-mixed"})
    for (const auto* type : {"bfloat16", "float32"}) {
      const made_checkpoint model{recipe};
      auto settings = roomy();
      settings.dtype = type;
      const auto jobs = some_jobs(32, 1);
      const auto expected = one_by_one(*model.load(settings), jobs);
      check_same(run_together(*model.load(settings), jobs), expected);
    }
}

BOOST_AUTO_TEST_CASE(chunks_blocks_and_threads_change_no_bit) {
  const made_checkpoint model{"tiny"};
  const auto jobs = some_jobs(8, 2);
  const auto expected = one_by_one(*model.load(roomy()), jobs);
  for (const std::uint32_t budget : {1, 7, 16, 33})
    for (const std::uint32_t threads : {1, 2}) {
      auto settings = roomy();
      settings.max_num_batched_tokens = budget;
      settings.max_num_seqs = std::min(budget, 48u);
      settings.block_size = threads == 1 ? 16 : 4;
      settings.threads = threads;
      check_same(run_together(*model.load(settings), jobs), expected);
    }
}

BOOST_AUTO_TEST_CASE(pools_so_small_that_sequences_are_preempted_change_no_bit) {
  const made_checkpoint model{"tiny"};
  const auto jobs = some_jobs(24, 3);
  const auto expected = one_by_one(*model.load(roomy()), jobs);
  std::uint64_t preemptions = 0;
  for (const std::uint64_t kilobytes : {90, 150, 300}) {
    auto settings = roomy();
    settings.kv_cache_bytes = kilobytes << 10;
    auto engine = model.load(settings);
    check_same(run_together(*engine, jobs), expected);
    preemptions += engine->stats().preemptions;
  }
  BOOST_TEST(preemptions > 0u);
}

BOOST_AUTO_TEST_CASE(more_prompt_logprobs_than_one_step_has_room_for_come_whole) {
  const made_checkpoint model{"tiny"};
  job j{std::vector<token_id>(100, 5), {.temperature = 0, .max_tokens = 2}, 1};
  for (std::size_t i = 0; i < j.prompt.size(); ++i) j.prompt[i] = static_cast<token_id>(i * 7);
  j.params.prompt_logprobs = 2;
  auto narrow = roomy();
  narrow.max_num_seqs = 3;  // and so three rows of logits at a time
  const auto out = run_together(*model.load(narrow), {j});
  BOOST_TEST(out[0].prompt_logprobs.size() == 99u);
  for (std::size_t i = 0; i < 99; ++i)
    BOOST_TEST(out[0].prompt_logprobs[i].token == j.prompt[i + 1]);
  check_same(out, run_together(*model.load(roomy()), {j}));
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_not_there_is_refused_in_one_sentence) {
  const auto engine = offline_engine::load("no-such-folder", roomy());
  BOOST_REQUIRE(!engine.has_value());
  BOOST_TEST(!engine.error().text.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
