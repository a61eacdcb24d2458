#include "gpu/checked_ops.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdio>

#include "tests/gpu/rig.hpp"

namespace glimmer {

namespace {

/// Whether the body ends the process by an assertion. Runs it in a child.
template <class Body>
bool dies(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    std::fclose(stderr);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(checked_ops_test)

BOOST_AUTO_TEST_CASE(shapes_and_types_that_do_not_fit_end_the_process) {
  rig r(instruction_set::plain);
  const stream_handle s = r.stream();
  const tensor rows = r.make({4, 32}, dtype::bf16);
  const tensor wide = r.make({4, 64}, dtype::bf16);
  const tensor single = r.make({4, 32}, dtype::f32);
  const tensor whole = r.make({4, 32}, dtype::i32);
  const tensor numbers = r.make({4}, dtype::i32);
  const packed_matrix w = r.pack(floats(64 * 32, 1.0f), {64, 32}, dtype::bf16);
  ops& op = r.op();
  BOOST_TEST(!dies([&] { op.matmul(s, wide, rows, w); }));
  BOOST_TEST(dies([&] { op.matmul(s, rows, rows, w); }));
  BOOST_TEST(dies([&] { op.matmul(s, wide, single, w); }));
  BOOST_TEST(dies([&] { op.matmul(s, rows, wide, w); }));
  BOOST_TEST(dies([&] { op.add(s, rows, single); }));
  BOOST_TEST(dies([&] { op.add(s, whole, whole); }));
  BOOST_TEST(dies([&] { op.add(s, rows, wide); }));
  BOOST_TEST(dies([&] { op.rms_norm(s, rows, rows, single, norm_kind::plain, 1e-5f); }));
  BOOST_TEST(dies([&] { op.finish_heads(s, rows, numbers, {.head_dim = 20}); }));
  BOOST_TEST(dies([&] { op.finish_heads(s, rows, numbers, {.head_dim = 16, .weight = numbers}); }));
  BOOST_TEST(dies([&] { op.gather_rows(s, rows, wide, numbers); }));
  BOOST_TEST(!dies([&] { op.store_columns(s, wide, 32, rows); }));
  BOOST_TEST(dies([&] { op.store_columns(s, wide, 33, rows); }));
  BOOST_TEST(dies([&] { op.store_columns(s, wide, 0, single); }));
  BOOST_TEST(dies([&] { op.pack(s, w, 61, rows); }));
  BOOST_TEST(dies([&] { op.pack_scales(s, w, 0, single); }));
  BOOST_TEST(dies([&] { op.packed_bytes({64, 40}, dtype::f4_pair); }));
}

BOOST_AUTO_TEST_CASE(results_over_their_own_input_end_the_process) {
  rig r(instruction_set::plain);
  const tensor rows = r.make({4, 32}, dtype::bf16);
  const packed_matrix w = r.pack(floats(32 * 32, 1.0f), {32, 32}, dtype::bf16);
  BOOST_TEST(dies([&] { r.op().matmul(r.stream(), rows, rows, w); }));
  BOOST_TEST(dies([&] {
    r.op().rms_norm(r.stream(), rows.rows({0, 3}), rows.rows({1, 3}), tensor{},
                    norm_kind::weightless, 1e-5f);
  }));
}

BOOST_AUTO_TEST_CASE(views_beyond_their_buffer_end_the_process) {
  rig r(instruction_set::plain);
  auto buffer = r.device().allocate(1024);
  BOOST_REQUIRE(buffer.has_value());
  BOOST_TEST(!dies([&] { (void)buffer->view(dtype::f32, {16, 8}, 512); }));
  BOOST_TEST(dies([&] { (void)buffer->view(dtype::f32, {16, 17}); }));
  BOOST_TEST(dies([&] { (void)buffer->view(dtype::f32, {1}, 1024); }));
  BOOST_TEST(dies([&] { (void)buffer->view(dtype::f32, {1}, 32); }));
  BOOST_TEST(dies([&] { (void)r.make({4, 4}, dtype::f32).rows({2, 3}); }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
