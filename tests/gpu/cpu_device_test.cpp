#include "gpu/cpu/cpu_device.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <latch>
#include <thread>

#include "gpu/cpu/cpu_stream.hpp"
#include "tests/gpu/rig.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(cpu_device_test)

BOOST_AUTO_TEST_CASE(ops_return_before_they_are_done) {
  rig r(available_instruction_sets().back());
  const tensor x = r.put(floats(64, 2.0f), {1, 64}, dtype::f32);
  const tensor y = r.put(floats(64, 3.0f), {1, 64}, dtype::f32);
  const packed_matrix w = r.pack(floats(64 * 64, 1.0f), {64, 64}, dtype::f32);
  const tensor out = r.make({1, 64}, dtype::f32);
  floats result(64);
  r.device().wait(r.device().record(r.stream()));

  std::latch gate(1);
  r.device().queue(r.stream(), [&] { gate.wait(); });
  r.op().add(r.stream(), x, y);
  r.op().matmul(r.stream(), out, x, w);
  r.device().download(r.stream(), std::as_writable_bytes(std::span(result)), out);
  const event_handle done = r.device().record(r.stream());
  // Everything is queued and nothing has happened: the gate is still shut.
  BOOST_TEST(!r.device().reached(done));
  BOOST_TEST(result[0] == 0.0f);

  gate.count_down();
  r.device().wait(done);
  BOOST_TEST(r.device().reached(done));
  BOOST_TEST(result[63] == 5.0f * 64);
}

BOOST_AUTO_TEST_CASE(an_instruction_set_is_forced_by_name_or_refused_with_those_that_are_there) {
  const auto sets = available_instruction_sets();
  BOOST_TEST((instruction_set_named("") == sets.back()));
  using enum instruction_set;
  for (const auto set : {plain, plain_pairs, avx2, avx512, avx512vnni, amx}) {
    const auto named = instruction_set_named(to_string(set));
    const bool there = std::ranges::find(sets, set) != sets.end();
    BOOST_TEST(named.has_value() == there);
    if (there) {
      BOOST_TEST((named == set));
    } else {
      BOOST_TEST(named.error().text.find("which this processor does not have") !=
                 std::string::npos);
    }
  }
  const auto unknown = instruction_set_named("avx512bf16");
  BOOST_REQUIRE(!unknown);
  BOOST_TEST(unknown.error().text.starts_with(
      "The instruction set is set to 'avx512bf16', which no code here is made for; allowed here "
      "are plain-pairs, plain"));
}

BOOST_AUTO_TEST_CASE(an_upload_takes_its_bytes_before_it_returns) {
  rig r(instruction_set::plain);
  std::latch gate(1);
  const tensor t = r.make({4}, dtype::f32);
  r.device().queue(r.stream(), [&] { gate.wait(); });
  floats values{1, 2, 3, 4};
  r.put_bytes(t, std::as_bytes(std::span(values)));
  values.assign(4, 0.0f);
  gate.count_down();
  BOOST_TEST(r.get(t) == (floats{1, 2, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_large_upload_comes_after_what_was_queued_before_it) {
  rig r(instruction_set::plain);
  const std::int64_t count = 1 << 19;
  const tensor t = r.put(floats(count, 1.0f), {1, count}, dtype::f32);
  r.op().add(r.stream(), t, t);
  const floats fresh(count, 5.0f);
  r.put_bytes(t, std::as_bytes(std::span(fresh)));
  r.op().add(r.stream(), t, t);
  BOOST_TEST(r.get(t)[12'345] == 10.0f);
}

BOOST_AUTO_TEST_CASE(streams_run_apart_and_keep_their_own_order) {
  const auto d = make_cpu_device({.threads = 1, .cpus = {}, .instructions = {}});
  const stream_handle slow = d->make_stream();
  const stream_handle fast = d->make_stream();
  std::latch gate(1);
  std::vector<int> order;
  d->queue(slow, [&] {
    gate.wait();
    order.push_back(1);
  });
  d->queue(slow, [&] { order.push_back(2); });
  std::atomic<bool> ran = false;
  d->queue(fast, [&] { ran = true; });
  d->wait(d->record(fast));
  BOOST_TEST(ran);
  gate.count_down();
  d->wait(d->record(slow));
  BOOST_TEST(order == (std::vector{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(host_work_runs_while_a_stream_is_held_up) {
  for (const unsigned threads : {1u, 2u, 4u}) {
    const auto d = make_cpu_device({.threads = threads, .cpus = {}, .instructions = {}});
    const stream_handle s = d->make_stream();
    std::latch gate(1);
    d->queue(s, [&] { gate.wait(); });
    std::atomic<std::size_t> sum = 0;
    d->for_each(1000, [&](std::size_t i) { sum += i; });
    BOOST_TEST(sum == 499'500u);
    d->for_each(0, [&](std::size_t) { sum = 0; });
    BOOST_TEST(sum == 499'500u);
    gate.count_down();
  }
}

BOOST_AUTO_TEST_CASE(any_thread_may_wait_for_an_event) {
  rig r(instruction_set::plain);
  std::latch gate(1);
  r.device().queue(r.stream(), [&] { gate.wait(); });
  const event_handle e = r.device().record(r.stream());
  std::thread waiter([&] { r.device().wait(e); });
  gate.count_down();
  waiter.join();
  BOOST_TEST(r.device().reached(e));
}

BOOST_AUTO_TEST_CASE(a_full_queue_blocks_the_caller_and_loses_nothing) {
  std::size_t ran = 0;
  {
    cpu_stream stream([] {});
    for (std::size_t i = 0; i < 10 * cpu_stream::slots; ++i) stream.queue([&ran] { ++ran; });
  }
  BOOST_TEST(ran == 10 * cpu_stream::slots);
}

BOOST_AUTO_TEST_CASE(buffers_are_aligned_and_large_ones_can_be_written) {
  const auto d = make_cpu_device({.threads = 1, .cpus = {}, .instructions = {}});
  for (const std::size_t bytes : {0uz, 1uz, 63uz, 64uz, 65uz, 4096uz, 5uz << 20}) {
    auto buffer = d->allocate(bytes);
    BOOST_REQUIRE(buffer.has_value());
    const tensor t = buffer->view(dtype::u8, {static_cast<std::int64_t>(bytes)});
    BOOST_TEST(t.data.address % 64 == 0u);
    std::memset(reinterpret_cast<void*>(t.data.address), 1, bytes);
    device_buffer moved = std::move(*buffer);
    BOOST_TEST(moved.bytes() == bytes);
  }
}

BOOST_AUTO_TEST_CASE(more_memory_than_there_is_is_refused_with_the_numbers) {
  const auto d = make_cpu_device({.threads = 1, .cpus = {}, .instructions = {}});
  const auto refused = d->allocate(std::size_t{1} << 60);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST((refused.error().kind == error_kind::device));
  BOOST_TEST(refused.error().text.find("1152921504606846976") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_device_says_what_it_is) {
  const auto d =
      make_cpu_device({.threads = 2, .cpus = {}, .instructions = instruction_set::plain});
  const device_info info = d->info();
  BOOST_TEST(info.name == "cpu plain, 2 threads");
  BOOST_TEST(info.memory_bytes > 0u);
  BOOST_TEST(info.free_bytes > 0u);
  BOOST_TEST(info.free_bytes <= info.memory_bytes);
}

BOOST_AUTO_TEST_CASE(pinned_threads_compute_the_same) {
  const auto d = make_cpu_device({.threads = 2, .cpus = {0}, .instructions = {}});
  std::atomic<int> calls = 0;
  std::thread host([&] { d->for_each(100, [&](std::size_t) { ++calls; }); });
  host.join();
  BOOST_TEST(calls == 100);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
