#include <boost/test/unit_test.hpp>
#include <vector>

#include "scheduler/stop.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(stop_test)

namespace {

const std::vector<token_id> end_tokens = {7, 9};

std::optional<end_cause> cause(const sampling_params& params, token_id token, std::uint32_t index) {
  return stop_cause({.end_tokens = end_tokens, .params = &params, .output_max = 10}, token, index);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_models_end_tokens_stop) {
  BOOST_TEST((cause({}, 7, 0) == end_cause::stop_token));
  BOOST_TEST((cause({}, 9, 3) == end_cause::stop_token));
  BOOST_TEST(!cause({}, 8, 3));
}

BOOST_AUTO_TEST_CASE(ignore_eos_disables_the_models_end_tokens_but_not_the_requests) {
  sampling_params params;
  params.ignore_eos = true;
  params.stop_token_ids = {5};
  BOOST_TEST(!cause(params, 7, 0));
  BOOST_TEST((cause(params, 5, 0) == end_cause::stop_token));
}

BOOST_AUTO_TEST_CASE(before_min_tokens_an_end_token_is_a_token_like_any_other) {
  sampling_params params;
  params.min_tokens = 3;
  BOOST_TEST(!cause(params, 7, 2));
  BOOST_TEST((cause(params, 7, 3) == end_cause::stop_token));
}

BOOST_AUTO_TEST_CASE(the_last_allowed_token_ends_by_length_unless_it_is_an_end_token) {
  BOOST_TEST((cause({}, 8, 9) == end_cause::length));
  BOOST_TEST((cause({}, 7, 9) == end_cause::stop_token));
  BOOST_TEST(!cause({}, 8, 8));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
