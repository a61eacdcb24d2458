#include "executor/acceptance.hpp"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/random.hpp"
#include "executor/sampler.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(acceptance_test)

using tokens = std::vector<token_id>;

/// What the model says, row by row; counts how often it was asked.
struct script {
  tokens says;
  std::size_t asked = 0;
  std::optional<token_id> operator()(std::size_t row) {
    ++asked;
    return says.at(row);
  }
};

BOOST_AUTO_TEST_CASE(without_drafts_one_token_is_drawn) {
  script s{{5}};
  BOOST_TEST(accept_drafts({}, std::ref(s)).value() == tokens{5}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(agreeing_drafts_are_accepted_and_a_bonus_token_follows) {
  script s{{5, 6, 7}};
  const tokens drafts = {5, 6};
  BOOST_TEST(accept_drafts(drafts, std::ref(s)).value() == (tokens{5, 6, 7}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rows_behind_the_first_disagreement_are_never_drawn) {
  script s{{5, 9, 7}};
  const tokens drafts = {5, 6};
  BOOST_TEST(accept_drafts(drafts, std::ref(s)).value() == (tokens{5, 9}),
             boost::test_tools::per_element());
  BOOST_TEST(s.asked == 2u);
}

BOOST_AUTO_TEST_CASE(a_broken_row_gives_no_tokens_at_all) {
  const tokens drafts = {5};
  const auto drawn = accept_drafts(
      drafts, [](std::size_t row) { return row == 0 ? std::optional<token_id>{5} : std::nullopt; });
  BOOST_TEST(!drawn.has_value());
}

namespace {

constexpr std::size_t kinds = 4;
using law = std::array<double, kinds>;

/// A model of four tokens: what follows depends on the token before.
constexpr law after[kinds] = {
    {0.1, 0.2, 0.3, 0.4}, {0.6, 0.2, 0.1, 0.1}, {0.25, 0.25, 0.25, 0.25}, {0.05, 0.05, 0.8, 0.1}};

std::vector<float> logits_after(token_id token) {
  std::vector<float> out;
  for (const auto p : after[token]) out.push_back(static_cast<float>(std::log(p)));
  return out;
}

/// Pearson's sum over what was drawn where `expected` was the law.
class tally {
 public:
  void add(token_id drawn, const law& expected) {
    ++seen_[static_cast<std::size_t>(drawn)];
    for (std::size_t i = 0; i < kinds; ++i) expected_[i] += expected[i];
  }
  double chi_square() const {
    double sum = 0;
    for (std::size_t i = 0; i < kinds; ++i)
      sum += (seen_[i] - expected_[i]) * (seen_[i] - expected_[i]) / expected_[i];
    return sum;
  }

 private:
  law seen_{}, expected_{};
};

/// Above this with three degrees of freedom: less than one time in 10,000.
constexpr double implausible = 21.11;

struct tallies {
  tally first, second, after_rejection, bonus;
};

/// Two drafts behind token 3, the model's likeliest or its unlikeliest, over many seeds; `pick`
/// chooses the token of a row: the sampler, or a faulty rule.
template <class Pick>
tallies draw_many(bool likely, Pick pick) {
  tallies out;
  const auto best = [&](token_id before) {
    const auto& p = after[before];
    return static_cast<token_id>(
        (likely ? std::ranges::max_element(p) : std::ranges::min_element(p)) - p.begin());
  };
  const tokens drafts = {best(3), best(best(3))};
  for (std::uint64_t seed = 1; seed <= 100'000; ++seed) {
    token_id before = 3;
    const auto drawn = *accept_drafts(drafts, [&](std::size_t row) -> std::optional<token_id> {
      return before = pick(seed, row, before, row < drafts.size() ? drafts[row] : -1);
    });
    out.first.add(drawn[0], after[3]);
    if (drawn.size() > 1) out.second.add(drawn[1], after[drawn[0]]);
    if (drawn.size() == 3) out.bonus.add(drawn[2], after[drawn[1]]);
    if (drawn.size() < 3) {  // the next round begins behind the token that was not the draft
      const auto next = pick(seed, drawn.size(), drawn.back(), token_id{-1});
      out.after_rejection.add(next, after[drawn.back()]);
    }
  }
  return out;
}

token_id honest(std::uint64_t seed, std::size_t row, token_id before, token_id) {
  sampler draw;
  return *draw.draw(logits_after(before), {.seed = seed}, row);
}

}  // namespace

BOOST_AUTO_TEST_CASE(tokens_follow_the_model_whatever_is_drafted) {
  for (const bool likely : {true, false}) {
    const auto seen = draw_many(likely, honest);
    BOOST_TEST(seen.first.chi_square() < implausible);
    BOOST_TEST(seen.second.chi_square() < implausible);
    BOOST_TEST(seen.after_rejection.chi_square() < implausible);
    BOOST_TEST(seen.bonus.chi_square() < implausible);
  }
}

// The test can fail: a rule that takes the draft a little too often does not pass.
BOOST_AUTO_TEST_CASE(a_rule_that_favours_the_draft_is_found_out) {
  const auto seen =
      draw_many(true, [](std::uint64_t seed, std::size_t row, token_id before, token_id draft) {
        const bool favoured = uniform_draw({.seed = seed, .position = row, .stream = 9}) < 0.05;
        return favoured && draft >= 0 ? draft : honest(seed, row, before, draft);
      });
  BOOST_TEST(seen.first.chi_square() > implausible);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
