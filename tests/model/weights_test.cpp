#include "model/weights.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <string>

#include "gpu/cpu/cpu_device.hpp"
#include "tests/model/golden.hpp"

namespace glimmer {

namespace {

/// A line of /proc/self/status, in KiB.
std::int64_t status_kib(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    std::int64_t kib = 0;
    if (word == name + ":" && file >> kib) return kib;
  }
  BOOST_FAIL("/proc/self/status has no " << name);
  return 0;
}

}  // namespace

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

BOOST_AUTO_TEST_CASE(files_do_not_stay_in_memory_beside_the_weights) {
  const auto device = make_cpu_device({.threads = 1});
  // Once before, so that the code that loads is in memory already.
  BOOST_REQUIRE(load_weights(*device, synthetic_checkpoint("tiny")));
  const auto source = open_checkpoint(synthetic_folder("tiny"));
  BOOST_REQUIRE(source);
  const auto file_kib = static_cast<std::int64_t>(source->files.data_bytes() >> 10);
  const auto before = status_kib("RssFile");
  BOOST_REQUIRE(load_weights(*device, *source));
  const auto grown = status_kib("RssFile") - before;
  // What the kernel maps around a page that is touched may belong to tensors that nobody reads.
  BOOST_TEST(grown < file_kib / 4, grown << " KiB of " << file_kib);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
