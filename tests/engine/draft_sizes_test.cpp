#include "engine/draft_sizes.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(draft_sizes_test)

namespace {

struct wish {
  std::uint32_t sequences = 1;
  std::uint32_t rows = 2048;
  std::uint32_t tokens = 15;
};

engine_settings settings_of(const wish& w) {
  engine_settings out{.max_num_seqs = w.sequences, .max_num_batched_tokens = w.rows};
  out.drafter = {.model = "head", .tokens_max = w.tokens};
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_sequence_has_its_row_and_no_step_more_than_it_may) {
  for (const std::uint32_t sequences : {1, 7, 132, 256})
    for (const std::uint32_t rows : {16, 256, 2048, 8192})
      for (const std::uint32_t tokens : {1, 4, 15}) {
        if (rows < sequences) continue;  // refused: not even one row each
        const auto sizes = draft_sizes_of(settings_of({sequences, rows, tokens}), 15);
        BOOST_TEST(sizes.tokens_max == tokens);
        BOOST_TEST(sizes.verify_rows >= sequences);
        BOOST_TEST(sizes.verify_rows <= rows);
        BOOST_TEST(sizes.verify_rows <= std::max(sequences, verify_rows_useful));
        const bool everybody = sizes.verify_rows == sequences * (tokens + 1);
        BOOST_TEST(everybody == sizes.notes.empty());
      }
}

BOOST_AUTO_TEST_CASE(no_more_is_drafted_than_the_head_was_made_for_and_the_cut_is_told) {
  const auto sizes = draft_sizes_of(settings_of({4, 2048, 40}), 3);
  BOOST_TEST(sizes.tokens_max == 3u);
  BOOST_TEST(sizes.verify_rows == 16u);
  BOOST_REQUIRE(sizes.notes.size() == 1u);
  BOOST_TEST(sizes.notes[0].find("num_speculative_tokens is 40") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
