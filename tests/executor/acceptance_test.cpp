#include "executor/acceptance.hpp"

#include <boost/test/unit_test.hpp>

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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
