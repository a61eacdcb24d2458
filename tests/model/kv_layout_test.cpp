#include "model/kv_layout.hpp"

#include <boost/test/unit_test.hpp>

#include "gpu/cpu/cpu_device.hpp"
#include "tests/model/golden.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(kv_layout_test)

BOOST_AUTO_TEST_CASE(a_block_of_the_release_has_its_size) {
  const auto config = parse_model_config("{}");
  BOOST_REQUIRE(config);
  const auto layout = kv_layout::of(config->text, 16, dtype::bf16);
  BOOST_TEST(layout.block_bytes(kv_group::full) == 212'992u);
  BOOST_TEST(layout.block_bytes(kv_group::sliding) == 638'976u);
}

BOOST_AUTO_TEST_CASE(a_draft_head_makes_sliding_blocks_larger_and_keeps_its_type) {
  const auto config = parse_model_config("{}");
  BOOST_REQUIRE(config);
  const auto layout = kv_layout::of(config->text, 16, dtype::bf16).with({}, dtype::bf16);
  BOOST_TEST(layout.block_bytes(kv_group::full) == 212'992u);
  BOOST_TEST(layout.block_bytes(kv_group::sliding) == 966'656u);
  const auto eight = kv_layout::of(config->text, 16, dtype::f8_e4m3).with({}, dtype::bf16);
  BOOST_TEST(eight.block_bytes(kv_group::sliding) == 638'976u / 2 + 327'680u);
}

BOOST_AUTO_TEST_CASE(a_copied_block_brings_the_draft_heads_rows_along) {
  const auto device = make_cpu_device({.threads = 1});
  const auto stream = device->make_stream();
  const auto& text = synthetic_checkpoint("tiny").config.text;
  draft_head_config head;
  head.layers = 2;
  head.kv_heads = 3;
  head.head_dim = 8;
  const auto caches = kv_caches::allocate(
      *device, text, kv_layout::of(text, 4, dtype::f8_e4m3).with(head, dtype::f32), {2, 5});
  BOOST_REQUIRE(caches);
  BOOST_TEST((caches->draft_layer(1).keys.shape == tensor_shape{5, 3, 4, 8}));
  std::vector<float> values(5 * 4 * 3 * 8);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / 96);
  for (const auto& half : {caches->draft_layer(0).values, caches->draft_layer(1).keys})
    device->upload(stream, half, std::as_bytes(std::span{values}));
  caches->copy_block(device->operations(), stream, kv_group::full, 0, 1);
  caches->copy_block(device->operations(), stream, kv_group::sliding, 4, 1);
  for (const auto& half : {caches->draft_layer(0).values, caches->draft_layer(1).keys}) {
    std::vector<float> seen(values.size());
    device->download(stream, std::as_writable_bytes(std::span{seen}), half);
    device->wait(device->record(stream));
    BOOST_TEST(seen[96] == 4.0f);
    BOOST_TEST(seen[191] == 4.0f);
    BOOST_TEST(seen[192] == 2.0f);
  }
}

BOOST_AUTO_TEST_CASE(layers_of_a_group_share_block_counts) {
  const auto device = make_cpu_device({.threads = 1});
  const auto& text = synthetic_checkpoint("tiny").config.text;
  const auto layout = kv_layout::of(text, 4, dtype::f32);
  const auto caches = kv_caches::allocate(*device, text, layout, {5, 3});
  BOOST_REQUIRE(caches);
  BOOST_TEST(caches->blocks(kv_group::full) == 5);
  BOOST_TEST((caches->layer(0).keys.shape == tensor_shape{3, 2, 4, 16}));
  BOOST_TEST((caches->layer(3).values.shape == tensor_shape{5, 2, 4, 16}));
}

BOOST_AUTO_TEST_CASE(a_copy_reaches_every_layer_of_its_group_and_no_other) {
  const auto device = make_cpu_device({.threads = 1});
  const auto stream = device->make_stream();
  const auto& text = synthetic_checkpoint("tiny").config.text;
  const auto caches =
      kv_caches::allocate(*device, text, kv_layout::of(text, 4, dtype::f32), {2, 2});
  BOOST_REQUIRE(caches);
  const std::size_t block = 4 * 2 * 16;
  std::vector<float> values(2 * block, 1.0f);
  std::fill(values.begin() + block, values.end(), 2.0f);
  for (std::size_t i = 0; i < 8; ++i) {
    device->upload(stream, caches->layer(i).keys, std::as_bytes(std::span{values}));
    device->upload(stream, caches->layer(i).values, std::as_bytes(std::span{values}));
  }
  caches->copy_block(device->operations(), stream, kv_group::sliding, 1, 0);
  for (std::size_t i = 0; i < 8; ++i) {
    for (const auto& half : {caches->layer(i).keys, caches->layer(i).values}) {
      std::vector<float> seen(2 * block);
      device->download(stream, std::as_writable_bytes(std::span{seen}), half);
      device->wait(device->record(stream));
      BOOST_TEST(seen.front() == (i % 4 == 3 ? 1.0f : 2.0f));
      BOOST_TEST(seen.back() == 2.0f);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
