#include "model/activations.hpp"

#include <boost/test/unit_test.hpp>

#include "gpu/cpu/cpu_device.hpp"
#include "tests/model/golden.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(activations_test)

BOOST_AUTO_TEST_CASE(views_of_a_step_are_cut_to_its_rows_and_apart) {
  const auto device = make_cpu_device({.threads = 1});
  const auto& text = synthetic_checkpoint("tiny").config.text;
  const activation_limits limits{.rows = 10, .wanted_rows = 3, .type = dtype::bf16};
  const auto scratch = activations::allocate(*device, text, limits);
  BOOST_REQUIRE(scratch);
  const auto views = scratch->take({4, 2});
  BOOST_TEST((views.hidden.shape == tensor_shape{4, 192}));
  BOOST_TEST((views.q.shape == tensor_shape{4, 128}));
  BOOST_TEST((views.logits.shape == tensor_shape{2, 1024}));
  BOOST_TEST((views.logits.type == dtype::f32));
  const auto whole = scratch->take({10, 3});
  BOOST_TEST(whole.hidden.data.address + whole.hidden.bytes() <= whole.normed.data.address);
  BOOST_TEST(whole.logits.data.address + whole.logits.bytes() <=
             whole.hidden.data.address + activations::bytes(text, limits));
}

BOOST_AUTO_TEST_CASE(a_step_may_want_no_logits) {
  const auto device = make_cpu_device({.threads = 1});
  const auto& text = synthetic_checkpoint("tiny").config.text;
  const auto scratch =
      activations::allocate(*device, text, {.rows = 10, .wanted_rows = 3, .type = dtype::f32});
  BOOST_REQUIRE(scratch);
  BOOST_TEST(scratch->take({10, 0}).logits.count() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
