#include <boost/test/unit_test.hpp>

#include "tests/scheduler/stage.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(scheduler_config_test)

namespace {

template <class Change>
std::string param_of(Change change) {
  auto config = small_config();
  change(config);
  const auto verdict = check(config);
  return verdict ? "" : verdict.error().param;
}

}  // namespace

BOOST_AUTO_TEST_CASE(numbers_that_cannot_work_are_refused_by_name) {
  using config = scheduler_config;
  BOOST_TEST(param_of([](config&) {}) == "");
  BOOST_TEST(param_of([](config& c) { c.max_model_len = 0; }) == "max_model_len");
  BOOST_TEST(param_of([](config& c) { c.max_num_seqs = 0; }) == "max_num_seqs");
  BOOST_TEST(param_of([](config& c) { c.max_num_batched_tokens = 7; }) == "max_num_batched_tokens");
  BOOST_TEST(param_of([](config& c) { c.max_partial_prefills = 0; }) == "max_partial_prefills");
  BOOST_TEST(param_of([](config& c) { c.block_size = 0; }) == "block_size");
  BOOST_TEST(param_of([](config& c) { c.window = 0; }) == "window");
  BOOST_TEST(param_of([](config& c) { c.blocks[1] = 0; }) == "blocks");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
