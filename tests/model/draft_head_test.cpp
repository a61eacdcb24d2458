#include "model/draft_head.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/json.hpp"
#include "tests/model/golden.hpp"
#include "tests/model/head_rig.hpp"
#include "tests/model/temporary_folder.hpp"

namespace glimmer {
namespace {

const char* const heads[] = {"tiny-head", "tiny-head-4"};
constexpr double closeness = 1e-4;

/// What tools/golden wrote of one head.
struct draft_golden {
  struct one_case {
    std::int64_t context = 0;
    std::int64_t drafts = 0;
    std::vector<token_id> best;
    golden_array hidden;  ///< [drafts, hidden]
    golden_array logits;  ///< [drafts, vocab / columns]
  };
  std::vector<token_id> tokens;
  std::size_t columns = 0;
  std::vector<one_case> cases;
};

draft_golden draft_golden_of(const std::string& head) {
  const std::filesystem::path folder = std::filesystem::path{GLIMMER_SOURCE_ROOT} / "tests/golden";
  const auto about = json::parse(read_text(folder / (head + ".json")));
  BOOST_REQUIRE(about);
  const auto bytes = read_text(folder / (head + ".bin"));
  const auto integer = [](const json& of, const char* key) { return *of.find(key)->integer(); };
  draft_golden out;
  out.columns = static_cast<std::size_t>(integer(*about, "columns"));
  for (const auto& t : about->find("tokens")->elements()) {
    out.tokens.push_back(static_cast<token_id>(*t.integer()));
  }
  for (const auto& c : about->find("cases")->elements()) {
    draft_golden::one_case one{.context = integer(c, "context"), .drafts = integer(c, "drafts")};
    for (const auto& t : c.find("best")->elements()) {
      one.best.push_back(static_cast<token_id>(*t.integer()));
    }
    one.hidden = golden_array_of(*c.find("hidden"), bytes);
    one.logits = golden_array_of(*c.find("logits"), bytes);
    out.cases.push_back(std::move(one));
  }
  return out;
}

/// Every n-th column of rows of the target's vocabulary.
std::vector<float> columns_of(std::span<const float> logits, std::size_t step) {
  std::vector<float> out;
  for (std::size_t i = 0; i < logits.size(); i += step) out.push_back(logits[i]);
  return out;
}

std::vector<token_id> best_of(std::span<const float> logits) {
  const auto width = static_cast<std::size_t>(synthetic_checkpoint("tiny").config.text.vocab_size);
  std::vector<token_id> out;
  for (std::size_t at = 0; at < logits.size(); at += width) {
    const auto row = logits.subspan(at, width);
    out.push_back(static_cast<token_id>(std::ranges::max_element(row) - row.begin()));
  }
  return out;
}

std::span<const float> first_rows(const std::string& head, const std::vector<float>& features,
                                  std::int64_t rows) {
  const auto width = synthetic_head(head).config.feature_width();
  return std::span{features}.first(static_cast<std::size_t>(rows * width));
}

draft_case case_of(const std::string& head, const std::vector<float>& features,
                   const draft_golden& g, const draft_golden::one_case& c) {
  const auto rows = first_rows(head, features, c.context);
  return {.features = {rows.begin(), rows.end()},
          .context = c.context,
          .anchor = g.tokens[static_cast<std::size_t>(c.context)],
          .drafts = c.drafts};
}

/// One block behind the first `context` rows of `features`, alone in a fresh rig.
std::vector<float> draft_alone(const std::string& head, const draft_case& c,
                               const rig_options& options, std::int64_t valid_from = 0) {
  head_rig rig{head, options};
  head_context context;
  rig.extend(context, c.features);
  const head_block block{&context, c.anchor, c.drafts, valid_from};
  return rig.draft({&block, 1})[0];
}

std::vector<token_id> long_text(std::uint64_t seed, std::int64_t count) {
  return random_tokens(seed, synthetic_checkpoint("tiny").config.text, count);
}

/// tiny-head's window is 12: a case far behind it.
draft_case far_case(std::uint64_t seed = 5, std::int64_t context = 50) {
  const auto tokens = long_text(seed, context + 1);
  auto features = features_of("tiny-head", tokens);
  features.resize(features.size() -
                  static_cast<std::size_t>(synthetic_head("tiny-head").config.feature_width()));
  return {
      .features = std::move(features), .context = context, .anchor = tokens.back(), .drafts = 15};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(draft_head_test)

BOOST_AUTO_TEST_CASE(b68_the_head_agrees_with_the_published_one_within_and_beyond_its_window) {
  for (const auto* head : heads) {
    const auto g = draft_golden_of(head);
    const auto features = features_of(head, g.tokens);
    for (const auto& c : g.cases) {
      head_rig rig{head, {.type = dtype::f32}};
      head_context context;
      rig.extend(context, first_rows(head, features, c.context));
      const head_block block{&context, g.tokens[static_cast<std::size_t>(c.context)], c.drafts, 0};
      const auto logits = rig.draft({&block, 1})[0];
      BOOST_TEST_CONTEXT(head << ", context " << c.context << ", drafts " << c.drafts) {
        const auto hidden = largest_difference(rig.hidden(), c.hidden.values);
        const auto error = largest_difference(columns_of(logits, g.columns), c.logits.values);
        BOOST_TEST_MESSAGE(head << " context " << c.context << ": " << hidden << ", " << error);
        BOOST_TEST(hidden < closeness);
        BOOST_TEST(error < closeness);
        BOOST_TEST(best_of(logits) == c.best, boost::test_tools::per_element());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_reference_head_agrees_with_the_published_one) {
  for (const auto* head : heads) {
    const auto g = draft_golden_of(head);
    const auto features = features_of(head, g.tokens);
    const reference_draft_head judge{synthetic_head(head), synthetic_checkpoint("tiny")};
    for (const auto& c : g.cases) {
      const auto logits = judge.logits(case_of(head, features, g, c));
      BOOST_TEST(largest_difference(columns_of(logits, g.columns), c.logits.values) < closeness,
                 head << ", context " << c.context);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_silent_fault_shows) {
  for (const auto* head : heads) {
    const auto g = draft_golden_of(head);
    const auto features = features_of(head, g.tokens);
    const reference_draft_head judge{synthetic_head(head), synthetic_checkpoint("tiny")};
    std::vector<double> worst(draft_trap_count);
    for (const auto& c : g.cases) {
      const auto one = case_of(head, features, g, c);
      for (int i = 1; i < draft_trap_count; ++i) {
        const auto logits = judge.logits(one, static_cast<draft_trap>(i));
        const auto error = largest_difference(columns_of(logits, g.columns), c.logits.values);
        worst[static_cast<std::size_t>(i)] = std::max(worst[static_cast<std::size_t>(i)], error);
      }
    }
    for (int i = 1; i < draft_trap_count; ++i) {
      const auto name = to_string(static_cast<draft_trap>(i));
      const auto error = worst[static_cast<std::size_t>(i)];
      BOOST_TEST_MESSAGE(head << ", " << name << ": " << error);
      BOOST_TEST(error > 1000 * closeness, head << ", " << name << ": " << error);
    }
  }
}

BOOST_AUTO_TEST_CASE(bf16_follows_f32) {
  const auto c = far_case();
  const auto wide = draft_alone("tiny-head", c, {.type = dtype::f32});
  const auto error = relative_rms(draft_alone("tiny-head", c, {.type = dtype::bf16}), wide);
  BOOST_TEST_MESSAGE("relative RMS " << error);
  BOOST_TEST(error < 0.02);
}

BOOST_AUTO_TEST_CASE(a_head_in_int8_follows_its_own_bf16_and_one_in_int4_roughly) {
  const auto c = far_case();
  const auto plain = draft_alone("tiny-head", c, {.type = dtype::bf16});
  const auto error = [&](load_quantization q) {
    return relative_rms(draft_alone("tiny-head", c, {.type = dtype::bf16, .quantization = q}),
                        plain);
  };
  const auto eight = error(load_quantization::int8);
  const auto four = error(load_quantization::int4);
  BOOST_TEST_MESSAGE("relative RMS " << eight << ", " << four);
  BOOST_TEST(eight < 0.05);
  BOOST_TEST(four > eight);
  BOOST_TEST(four < 0.5);
}

BOOST_AUTO_TEST_CASE(invariant_8_context_in_any_chunks_gives_the_same_rows_and_draft) {
  const auto c = far_case();
  for (const auto type : {dtype::f32, dtype::bf16}) {
    const auto expected = draft_alone("tiny-head", c, {.type = type});
    for (const std::int64_t chunk : {1, 7, 16, 33}) {
      head_rig rig{"tiny-head", {.type = type}};
      head_context context;
      rig.extend(context, c.features, chunk);
      const head_block block{&context, c.anchor, c.drafts, 0};
      BOOST_TEST((rig.draft({&block, 1})[0] == expected), to_string(type) << " " << chunk);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_instruction_set_and_thread_count_gives_the_same_bits) {
  const auto c = far_case();
  for (const auto type : {dtype::f32, dtype::bf16}) {
    const auto run_on = [&](instruction_set set, unsigned threads) {
      return draft_alone("tiny-head", c, {.type = type, .threads = threads, .instructions = set});
    };
    const auto by_chains = run_on(instruction_set::plain, 1);
    const auto in_pairs = run_on(instruction_set::plain_pairs, 1);
    for (const auto set : available_instruction_sets()) {
      BOOST_TEST((run_on(set, 2) == (sums_in_pairs(set) ? in_pairs : by_chains)),
                 to_string(type) << " " << to_string(set));
    }
  }
}

BOOST_AUTO_TEST_CASE(invariant_9_context_that_is_not_valid_is_neither_seen_nor_read) {
  const auto c = far_case();
  const auto width = static_cast<std::size_t>(synthetic_head("tiny-head").config.feature_width());
  for (const std::int64_t valid : {39, 43, 49, 50}) {
    // As if the context before `valid` had other features: NaN would show, and any number too.
    auto other = c;
    std::fill_n(other.features.begin(), static_cast<std::size_t>(valid) * width, 1000.0f);
    const auto expected = draft_alone("tiny-head", c, {}, valid);
    BOOST_TEST((draft_alone("tiny-head", other, {}, valid) == expected), "valid from " << valid);
    BOOST_TEST((draft_alone("tiny-head", c, {}) != expected), "valid from " << valid);
  }
  BOOST_TEST((draft_alone("tiny-head", c, {}, 38) == draft_alone("tiny-head", c, {})),
             "38 = 50 - 12 is the oldest position that any row sees");
}

BOOST_AUTO_TEST_CASE(b67_invariant_10_a_draft_is_the_same_alone_and_among_up_to_64_others) {
  const std::uint64_t seed = 20260731;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random{seed};
  const auto features = features_of("tiny-head", long_text(seed, 120));
  const auto pick = [&](std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random);
  };
  for (const auto type : {dtype::f32, dtype::bf16}) {
    const auto c = far_case();
    const auto alone = draft_alone("tiny-head", c, {.type = type});
    for (const int others : {1, 3, 8, 17, 64}) {
      head_rig rig{"tiny-head", {.type = type}};
      std::deque<head_context> contexts(static_cast<std::size_t>(others));
      std::vector<head_block> blocks;
      for (auto& context : contexts) {
        const auto rows = 1 + pick(others > 20 ? 14 : 60);
        rig.extend(context, first_rows("tiny-head", features, rows));
        blocks.push_back({&context, static_cast<token_id>(pick(1000)), 1 + pick(15), pick(rows)});
      }
      head_context mine;
      rig.extend(mine, c.features);
      const auto place = pick(others + 1);
      blocks.insert(blocks.begin() + place, {&mine, c.anchor, c.drafts, 0});
      const auto together = rig.draft(blocks);
      BOOST_TEST((together[static_cast<std::size_t>(place)] == alone), to_string(type)
                                                                           << " among " << others);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_block_leaves_no_row_behind) {
  const auto c = far_case();
  head_rig rig{"tiny-head", {}};
  head_context context;
  rig.extend(context, c.features);
  const head_block block{&context, c.anchor, c.drafts, 0};
  const auto first = rig.draft({&block, 1})[0];
  // Position 50 would be the anchor's; its block of 8 has been given to the sequence already.
  for (const float value : rig.row_at(context, 50)) BOOST_REQUIRE(std::isnan(value));
  BOOST_TEST((rig.draft({&block, 1})[0] == first));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
