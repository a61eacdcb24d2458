#include "executor/draft_runner.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/random.hpp"
#include "tests/executor/draft_rig.hpp"

namespace glimmer {
namespace {

using tokens = std::vector<token_id>;

constexpr std::int64_t whole = 1 << 20;

/// Random text; the seed is part of the test.
tokens text(std::uint64_t seed, std::int64_t count) {
  tokens out;
  for (std::int64_t i = 0; i < count; ++i) {
    const double u = uniform_draw({.seed = seed, .position = static_cast<std::uint64_t>(i)});
    out.push_back(static_cast<token_id>(u * 900));
  }
  return out;
}

tokens first_of(const tokens& all, std::int64_t count) {
  return {all.begin(), all.begin() + count};
}

/// A prompt and what greedy decoding makes of it, one token a step.
tokens plain_decode(const draft_rig::options& o, const tokens& prompt, std::int64_t count) {
  draft_rig rig{o};
  drafted_sequence s{.tokens = prompt};
  rig.prefill(s, whole, 0);
  while (std::ssize(s.tokens) < std::ssize(prompt) + count) rig.step({.sequence = &s});
  return s.tokens;
}

/// A prompt's first proposals, computed in a sequence of its own.
tokens first_proposals(draft_rig& rig, const tokens& prompt, std::uint32_t wanted) {
  drafted_sequence s{.tokens = prompt};
  rig.prefill(s, whole, wanted);
  auto proposed = s.proposed;
  rig.finish(s);
  return proposed;
}

/// Drafts for positions behind the anchor: `right` tokens of the truth and then wrong ones.
struct mixed_drafts {
  std::int64_t position = 0;
  std::int64_t right = 0;
  std::int64_t count = 0;
};
tokens drafts_with(const tokens& truth, const mixed_drafts& d) {
  tokens out;
  for (std::int64_t i = 0; i < d.count; ++i) {
    const auto token = truth[static_cast<std::size_t>(d.position + i)];
    out.push_back(i < d.right ? token : (token + 1) % 900);
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(draft_runner_test)

BOOST_AUTO_TEST_CASE(invariant_7_after_any_accept_lengths_context_and_draft_equal_a_fresh_prefill) {
  const unsigned seed = 20261130;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  for (const auto* head : {"tiny-head", "tiny-head-4"}) {
    const draft_rig::options o{.head = head};
    const auto prompt = text(seed, 21);
    const auto truth = plain_decode(o, prompt, 130);
    draft_rig rig{o};
    draft_rig fresh{o};
    const auto most = static_cast<std::int64_t>(rig.config().drafts_max());
    drafted_sequence s{.tokens = prompt};
    rig.prefill(s, 5, 1);
    for (int round = 0; round < 24 && std::ssize(s.tokens) + most < std::ssize(truth); ++round) {
      const auto count = std::uniform_int_distribution<std::int64_t>(0, most)(random);
      const auto right = std::uniform_int_distribution<std::int64_t>(0, count)(random);
      const auto before = std::ssize(s.tokens);
      rig.step({.sequence = &s,
                .drafts = drafts_with(truth, {before, right, count}),
                .wanted = static_cast<std::uint32_t>(most)});
      BOOST_TEST(std::ssize(s.tokens) == before + right + 1);
      BOOST_TEST(s.tokens == first_of(truth, std::ssize(s.tokens)));

      drafted_sequence again{.tokens = first_of(s.tokens, s.computed)};
      fresh.prefill(again, whole, static_cast<std::uint32_t>(most));
      BOOST_TEST(again.tokens == s.tokens);
      BOOST_TEST((fresh.context_rows(again) == rig.context_rows(s)), head << ", round " << round);
      BOOST_TEST(again.proposed == s.proposed, boost::test_tools::per_element());
      fresh.finish(again);
    }
    BOOST_TEST(s.computed > 2 * rig.config().window);
  }
}

BOOST_AUTO_TEST_CASE(rows_of_anchor_block_and_rejected_drafts_are_never_written) {
  const draft_rig::options o;
  const auto prompt = text(3, 17);
  const auto truth = plain_decode(o, prompt, 30);
  draft_rig rig{o};
  drafted_sequence s{.tokens = prompt};
  rig.prefill(s, whole, 15);
  rig.step({.sequence = &s, .drafts = drafts_with(truth, {18, 4, 15}), .wanted = 15});
  BOOST_TEST(s.computed == 17 + 5);
  for (auto p = s.computed; p < 17 + 16; ++p) {
    for (const float value : rig.row_at(s, p)) BOOST_REQUIRE(std::isnan(value));
  }
  for (const float value : rig.row_at(s, s.computed - 1)) BOOST_REQUIRE(std::isfinite(value));
}

BOOST_AUTO_TEST_CASE(invariant_8_prompts_in_any_chunks_give_the_same_rows_and_first_draft) {
  for (const auto type : {dtype::f32, dtype::bf16}) {
    const draft_rig::options o{.type = type};
    draft_rig rig{o};
    drafted_sequence expected{.tokens = text(8, 61)};
    rig.prefill(expected, whole, 15);
    for (const std::int64_t chunk : {1, 7, 16, 33}) {
      drafted_sequence s{.tokens = text(8, 61)};
      rig.prefill(s, chunk, 15);
      BOOST_TEST((rig.context_rows(s) == rig.context_rows(expected)), "chunks of " << chunk);
      BOOST_TEST(s.proposed == expected.proposed, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(invariant_9_a_warm_prefix_and_a_copied_block_draft_as_a_cold_prompt_does) {
  draft_rig rig{{}};
  drafted_sequence cold{.tokens = text(9, 45)};
  rig.prefill(cold, whole, 15);
  for (const std::int64_t shared : {40, 44}) {  // whole blocks; and half of one, copied
    auto warm = rig.fork(cold, shared);
    warm.tokens.resize(45);
    rig.prefill(warm, whole, 15);
    BOOST_TEST(warm.proposed == cold.proposed, boost::test_tools::per_element());
    BOOST_TEST((rig.context_rows(warm) == rig.context_rows(cold)));
  }
}

BOOST_AUTO_TEST_CASE(invariant_9_blocks_filled_without_the_head_are_masked_and_never_read) {
  // The first rig's head misses the first 40 tokens: their rows are NaN. In the second they are
  // there, but of other tokens.
  draft_rig rig{{}};
  const auto fill = [](draft_rig& r, const tokens& prompt, bool with_head) {
    drafted_sequence s{.tokens = prompt};
    r.set_drafting(with_head);
    r.prefill(s, 40, 15);
    r.set_drafting(true);
    return s;
  };
  const auto prompt = text(10, 41);
  auto filled = fill(rig, prompt, false);
  auto warm = rig.fork(filled, 40);
  warm.tokens = prompt;
  warm.valid_from = 40;
  rig.prefill(warm, whole, 15);
  BOOST_REQUIRE(warm.proposed.size() == 15u);
  BOOST_TEST(std::ranges::count(warm.proposed, 0) < 15, "NaN would propose token 0 in every row");

  draft_rig other{{}};
  auto seen = fill(other, prompt, true);
  auto masked = other.fork(seen, 40);
  masked.tokens = prompt;
  masked.valid_from = 40;
  other.prefill(masked, whole, 15);
  BOOST_TEST(masked.proposed == warm.proposed, boost::test_tools::per_element());
  BOOST_TEST(masked.proposed != seen.proposed);

  // Once a window of new rows is there, nothing tells the two apart.
  while (warm.computed < 40 + rig.config().keys_seen()) {
    rig.step({.sequence = &warm, .wanted = 15});
    other.step({.sequence = &seen, .wanted = 15});
  }
  BOOST_TEST(warm.tokens == seen.tokens);
  BOOST_TEST(warm.proposed == seen.proposed, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(b69_fifty_requests_on_one_slot_draft_as_fresh_ones_do) {
  const std::uint64_t seed = 69;
  draft_rig slot{{.blocks = {12, 12}}};  // every request gets the blocks of those before it
  draft_rig roomy{{.blocks = {700, 700}}};
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto prompt = text(seed + i, 1 + static_cast<std::int64_t>(i * 13 % 60));
    BOOST_TEST(first_proposals(slot, prompt, 15) == first_proposals(roomy, prompt, 15),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(b73_different_widths_in_one_step_equal_separate_runs) {
  draft_rig rig{{}};
  draft_rig together{{}};
  std::deque<drafted_sequence> all;
  std::vector<draft_rig::work> works;
  for (std::uint32_t width = 0; width <= 15; ++width) {
    all.push_back({.tokens = text(100 + width, 1 + width * 7 % 23)});
    works.push_back({&all.back(), std::ssize(all.back().tokens), {}, width});
  }
  together.step(works);
  for (std::uint32_t width = 0; width <= 15; ++width) {
    const auto prompt = text(100 + width, 1 + width * 7 % 23);
    BOOST_TEST(all[width].proposed.size() == width);
    BOOST_TEST(all[width].proposed == first_proposals(rig, prompt, width),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(b72_a_random_heads_drafts_change_no_token_and_are_accepted_by_chance) {
  const draft_rig::options o;
  const auto prompt = text(72, 12);
  const auto truth = plain_decode(o, prompt, 60);
  draft_rig rig{o};
  drafted_sequence s{.tokens = prompt};
  rig.prefill(s, whole, 15);
  int rounds = 0;
  while (std::ssize(s.tokens) < std::ssize(truth)) {
    rig.step({.sequence = &s, .drafts = s.proposed, .wanted = 15});
    ++rounds;
  }
  BOOST_TEST(first_of(s.tokens, std::ssize(truth)) == truth, boost::test_tools::per_element());
  BOOST_TEST(rounds >= 50, "of 59 tokens behind the first, a random head guesses next to none");
}

BOOST_AUTO_TEST_CASE(a_plan_may_only_write_rows_or_hold_nothing) {
  draft_rig rig{{}};
  drafted_sequence s{.tokens = text(4, 20)};
  rig.prefill(s, 7, 0);
  BOOST_TEST(s.proposed.empty());
  for (const float value : rig.context_rows(s)) BOOST_REQUIRE(std::isfinite(value));
  rig.step(std::span<const draft_rig::work>{});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
