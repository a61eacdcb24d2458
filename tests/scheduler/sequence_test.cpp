#include <boost/test/unit_test.hpp>

#include "scheduler/sequence.hpp"
#include "tests/scheduler/stage.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(sequence_test)

BOOST_AUTO_TEST_CASE(tokens_run_on_from_the_prompt_into_the_output) {
  sequence s;
  s.prompt = prompt_of(5, 10);
  s.output = {90, 91, 92};
  BOOST_TEST(s.total() == 8u);
  for (std::uint32_t from = 0; from <= s.total(); ++from) {
    for (std::uint32_t count = 0; from + count <= s.total(); ++count) {
      std::vector<token_id> copied;
      s.copy_tokens(from, count, copied);
      std::vector<token_id> expected;
      for (auto at = from; at < from + count; ++at) expected.push_back(s.token(at));
      BOOST_TEST(copied == expected, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
