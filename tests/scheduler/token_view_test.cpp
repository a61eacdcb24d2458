#include <boost/test/unit_test.hpp>

#include "scheduler/token_view.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(token_view_test)

BOOST_AUTO_TEST_CASE(every_range_over_the_seam_reads_as_one_text) {
  const std::vector<token_id> all = {0, 1, 2, 3, 4, 5, 6};
  for (std::size_t seam = 0; seam <= all.size(); ++seam) {
    const token_view view{.prompt = std::span{all}.first(seam),
                          .output = std::span{all}.subspan(seam)};
    for (std::size_t begin = 0; begin <= all.size(); ++begin) {
      for (std::size_t count = 0; begin + count <= all.size(); ++count) {
        std::vector<token_id> scratch;
        const auto part = view.read({begin, count}, scratch);
        BOOST_TEST(part == std::span{all}.subspan(begin, count), boost::test_tools::per_element());
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
