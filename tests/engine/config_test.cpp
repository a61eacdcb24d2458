#include "engine/config.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(config_test)

constexpr std::uint64_t gibi = std::uint64_t{1} << 30;

/// The released 30B on a machine of `memory` bytes.
engine_facts released(std::uint64_t memory) {
  engine_facts facts{.end_tokens = {200'001, 200'008},
                     .weight_bytes = 56 * gibi,
                     .memory_bytes = memory,
                     .free_bytes = memory};
  for (std::int64_t i = 0; i < facts.model.layers; ++i)
    facts.model.layer_groups.push_back((facts.model.layers - 1 - i) % 4 == 0 ? kv_group::full
                                                                             : kv_group::sliding);
  return facts;
}

std::string refusal(const engine_settings& settings, const engine_facts& facts) {
  const auto derived = derive_config(settings, facts);
  BOOST_REQUIRE(!derived.has_value());
  BOOST_TEST((derived.error().kind == error_kind::bad_request));
  return derived.error().text;
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

double kv_bytes(const engine_config& c) {
  return static_cast<double>(c.kv_blocks[0]) *
             static_cast<double>(c.kv.block_bytes(kv_group::full)) +
         static_cast<double>(c.kv_blocks[1]) *
             static_cast<double>(c.kv.block_bytes(kv_group::sliding));
}

BOOST_AUTO_TEST_CASE(one_sequence_takes_every_position_in_full_and_a_window_in_sliding) {
  const auto model = released(gibi).model;
  const auto whole = blocks_of_sequence(model, {131'072, 16});
  BOOST_TEST(whole[0] == 8192);
  BOOST_TEST(whole[1] == 129);
  const auto brief = blocks_of_sequence(model, {33, 16});
  BOOST_TEST(brief[0] == 3);
  BOOST_TEST(brief[1] == 3);
}

BOOST_AUTO_TEST_CASE(the_defaults_on_a_large_machine_fill_the_memory_and_no_more) {
  const auto derived = derive_config({}, released(128 * gibi));
  BOOST_REQUIRE(derived.has_value());
  BOOST_TEST(derived->scheduler.max_model_len == 131'072u);
  BOOST_TEST(derived->scheduler.window == 2048u);
  BOOST_TEST(derived->scheduler.end_tokens.size() == 2u);
  BOOST_TEST((derived->activations.type == dtype::bf16));
  const double left =
      0.9 * 128 * gibi - 56.0 * gibi -
      static_cast<double>(activations::bytes(released(gibi).model, derived->activations));
  BOOST_TEST(kv_bytes(*derived) <= left);
  BOOST_TEST(kv_bytes(*derived) > 0.99 * left);
  BOOST_TEST(says(derived->summary, "56.00 GiB weights"), derived->summary);
}

BOOST_AUTO_TEST_CASE(pools_never_hold_more_than_all_sequences_can_use) {
  const engine_settings settings{
      .max_model_len = 64, .max_num_seqs = 2, .max_num_batched_tokens = 32};
  const auto derived = derive_config(settings, released(512 * gibi));
  BOOST_REQUIRE(derived.has_value());
  BOOST_TEST(derived->kv_blocks[0] == 8);
  BOOST_TEST(derived->kv_blocks[1] == 8);
}

BOOST_AUTO_TEST_CASE(the_kv_cache_override_takes_the_place_of_the_memory_sum) {
  const engine_settings settings{.max_model_len = 4096, .kv_cache_bytes = 2 * gibi};
  const auto derived = derive_config(settings, released(8 * gibi));
  BOOST_REQUIRE(derived.has_value());
  BOOST_TEST(kv_bytes(*derived) <= 2.0 * gibi);
  BOOST_TEST(kv_bytes(*derived) > 1.99 * gibi);
}

BOOST_AUTO_TEST_CASE(memory_too_small_for_one_sequence_is_refused_with_the_sum_and_what_fits) {
  const auto text = refusal({.kv_cache_bytes = gibi}, released(8 * gibi));
  BOOST_TEST(says(text, "max_model_len 131072"), text);
  BOOST_TEST(says(text, "8192 blocks of 212992 bytes and 129 of 638976 bytes"), text);
  BOOST_TEST(says(text, "1.70 GiB"), text);
  BOOST_TEST(says(text, "set to 1.00 GiB"), text);

  // What is said to fit does fit, and one token more does not.
  const auto at = text.find("At most ") + 8;
  const auto fits = static_cast<std::uint32_t>(std::stoul(text.substr(at)));
  engine_settings shorter{.max_model_len = fits, .kv_cache_bytes = gibi};
  BOOST_TEST(derive_config(shorter, released(8 * gibi)).has_value());
  shorter.max_model_len = fits + 1;
  BOOST_TEST(!derive_config(shorter, released(8 * gibi)).has_value());
}

BOOST_AUTO_TEST_CASE(weights_that_leave_nothing_are_refused_and_not_underflowed) {
  const auto text = refusal({}, released(24 * gibi));
  BOOST_TEST(says(text, "At most 0 tokens fit"), text);
  BOOST_TEST(says(text, "90 % of 24.00 GiB"), text);
}

BOOST_AUTO_TEST_CASE(each_wrong_setting_is_refused_by_name) {
  const auto facts = released(512 * gibi);
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(says(refusal({.max_model_len = 0}, facts), "max_model_len is 0"));
  BOOST_TEST(says(refusal({.max_num_seqs = 0}, facts), "max_num_seqs"));
  BOOST_TEST(says(refusal({.max_num_seqs = 64, .max_num_batched_tokens = 63}, facts),
                  "max_num_batched_tokens is 63"));
  BOOST_TEST(says(refusal({.block_size = 24}, facts), "block_size is 24"));
  BOOST_TEST(says(refusal({.block_size = 0}, facts), "block_size is 0"));
  for (const double share : {0.0, -1.0, 1.01, nan})
    BOOST_TEST(says(refusal({.memory_utilization = share}, facts), "gpu_memory_utilization"));
  BOOST_TEST(says(refusal({.dtype = "float16"}, facts), "dtype is 'float16'"));
}

BOOST_AUTO_TEST_CASE(a_context_beyond_the_checkpoints_is_the_operators_choice) {
  BOOST_TEST(
      derive_config({.max_model_len = 262'144}, released(512 * gibi))->scheduler.max_model_len ==
      262'144u);
}

/// With the released draft head.
engine_facts with_head(std::uint64_t memory) {
  auto facts = released(memory);
  facts.draft = draft_facts{.head = {}, .weight_bytes = 5 * gibi};
  facts.draft->head.taps = {1, 13, 25, 37, 49};
  return facts;
}

engine_settings drafting() {
  engine_settings out;
  out.drafter.model = "head";
  return out;
}

BOOST_AUTO_TEST_CASE(a_draft_head_is_paid_before_the_cache_and_its_rows_with_the_sliding_blocks) {
  const auto plain = derive_config({}, released(100 * gibi));
  const auto config = derive_config(drafting(), with_head(100 * gibi));
  BOOST_REQUIRE(config.has_value());
  BOOST_TEST(config->kv.block_bytes(kv_group::sliding) == 966'656u);
  BOOST_TEST(says(config->summary, "draft head = "));
  BOOST_TEST(kv_bytes(*config) < kv_bytes(*plain) - 5.0 * gibi);
  BOOST_TEST(config->scheduler.drafting.tokens_max == 15u);
  BOOST_TEST(config->scheduler.drafting.verify_rows_max == 512u);
  BOOST_TEST(config->activations.wanted_rows == 512);
  BOOST_REQUIRE(config->draft.has_value());
  BOOST_TEST(config->draft->block_rows == 512);
  BOOST_TEST(config->notes.size() == 1u);  // not everybody's whole block fits
}

BOOST_AUTO_TEST_CASE(a_sequence_that_drafts_enters_one_more_sliding_block) {
  BOOST_TEST(blocks_of_sequence(released(gibi).model, {131'072, 16, 15})[1] == 130);
}

BOOST_AUTO_TEST_CASE(a_draft_head_that_does_not_fit_is_refused_with_the_sum) {
  const auto text = refusal(drafting(), with_head(70 * gibi));
  BOOST_TEST(says(text, "5."));
  BOOST_TEST(says(text, "draft head"));
}

BOOST_AUTO_TEST_CASE(without_drafts_wanted_a_head_changes_nothing) {
  auto settings = drafting();
  settings.drafter.tokens_max = 0;
  const auto config = derive_config(settings, with_head(100 * gibi));
  BOOST_REQUIRE(config.has_value());
  BOOST_TEST(config->scheduler.drafting.tokens_max == 0u);
  BOOST_TEST(!config->draft.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
