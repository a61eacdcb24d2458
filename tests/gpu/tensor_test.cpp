#include "gpu/tensor.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

BOOST_AUTO_TEST_SUITE(tensor_test)

BOOST_AUTO_TEST_CASE(rows_of_a_tensor_start_where_the_rows_before_end) {
  const tensor t{.data = {1024}, .shape = {10, 3, 5}, .type = dtype::bf16};
  const tensor part = t.rows({4, 2});
  BOOST_TEST(part.data.address == 1024u + 4 * 3 * 5 * 2);
  BOOST_TEST((part.shape == tensor_shape{2, 3, 5}));
  BOOST_TEST(part.bytes() == 2u * 3 * 5 * 2);
}

BOOST_AUTO_TEST_CASE(no_rows_are_an_empty_tensor) {
  const tensor t{.data = {64}, .shape = {10, 3}, .type = dtype::f32};
  BOOST_TEST(t.rows({10, 0}).count() == 0);
}

BOOST_AUTO_TEST_CASE(another_shape_keeps_place_and_type) {
  const tensor t{.data = {64}, .shape = {6, 4}, .type = dtype::i32};
  const tensor u = t.reshaped({2, 3, 4});
  BOOST_TEST((u.data == t.data && u.type == t.type && u.count() == t.count()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
