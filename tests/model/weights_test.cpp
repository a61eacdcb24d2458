#include "model/weights.hpp"

#include <boost/test/unit_test.hpp>

#include "gpu/cpu/cpu_device.hpp"
#include "tests/model/golden.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(weights_test)

BOOST_AUTO_TEST_CASE(every_text_tensor_reaches_the_device) {
  const auto device = make_cpu_device({.threads = 1});
  const auto stream = device->make_stream();
  const auto& source = synthetic_checkpoint("tiny");
  const auto weights = load_weights(*device, source);
  BOOST_REQUIRE(weights);
  BOOST_TEST(weights->layers.size() == 8u);
  BOOST_TEST((weights->embedding.shape == tensor_shape{1024, 192}));
  BOOST_TEST(weights->layers[7].mlp_down.in == 576);
  std::size_t bytes = 0;
  for (const auto& buffer : weights->buffers) bytes += buffer.bytes();
  BOOST_TEST(bytes <= weight_bytes(*device, source));

  std::vector<std::byte> table(weights->embedding.bytes());
  std::vector<float> norm(192);
  device->download(stream, table, weights->embedding);
  device->download(stream, std::as_writable_bytes(std::span{norm}), weights->layers[2].input_norm);
  device->wait(device->record(stream));
  const auto* stored = source.files.find("model.language_model.embed_tokens.weight");
  BOOST_TEST(std::equal(table.begin(), table.end(), stored->data.begin(), stored->data.end()));
  BOOST_TEST(norm[7] == -1.0f);
  BOOST_TEST(norm[68] == -1.0f);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
