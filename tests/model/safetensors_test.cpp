#include "model/safetensors.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

#include "tests/model/golden.hpp"
#include "tests/model/temporary_folder.hpp"

namespace glimmer {
namespace {

std::string with_length(const std::string& header, std::uint64_t length) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(length >> (8 * i) & 0xFF);
  return out + header;
}

/// A whole file: header and `data` bytes.
std::string file_of(const std::string& header, std::size_t data) {
  return with_length(header, header.size()) + std::string(data, 'x');
}

std::string entry(std::string_view name, const std::string& rest) {
  return "\"" + std::string{name} + "\":{\"dtype\":\"F32\"," + rest + "}";
}

result<std::vector<stored_tensor>> read(const std::string& bytes) {
  return read_safetensors_header("m.safetensors", std::as_bytes(std::span{bytes}));
}

bool refuses(const std::string& bytes, std::string_view words) {
  const auto tensors = read(bytes);
  const auto sentence = tensors ? "accepted" : tensors.error().text;
  BOOST_TEST_INFO(sentence);
  return sentence.starts_with("m.safetensors: ") && sentence.find(words) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(safetensors_test)

BOOST_AUTO_TEST_CASE(tensors_come_in_order_of_offset) {
  const auto bytes = file_of(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,2],"data_offsets":[4,12]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
      12);
  const auto tensors = read(bytes);
  BOOST_REQUIRE(tensors);
  BOOST_REQUIRE(tensors->size() == 2u);
  BOOST_TEST((*tensors)[0].name == "a");
  BOOST_TEST((*tensors)[0].count() == 1u);
  BOOST_TEST((*tensors)[1].name == "b");
  BOOST_TEST((*tensors)[1].data.size() == 8u);
}

BOOST_AUTO_TEST_CASE(lying_headers_are_refused_with_tensor_and_numbers) {
  const auto one = [](const std::string& rest) { return "{" + entry("w", rest) + "}"; };
  BOOST_TEST(refuses("", "0 bytes, too few"));
  BOOST_TEST(refuses("1234567", "7 bytes, too few"));
  BOOST_TEST(refuses(with_length("{}", 3), "3 bytes, but the file has 10"));
  BOOST_TEST(refuses(with_length("{}", ~std::uint64_t{0}), "18446744073709551615 bytes"));
  BOOST_TEST(refuses(file_of("{", 0), "not a JSON object"));
  BOOST_TEST(refuses(file_of("[]", 0), "not a JSON object"));
  BOOST_TEST(refuses(file_of(R"({"w":1})", 0), "Tensor w is not described"));
  BOOST_TEST(refuses(file_of(R"({"w":{"shape":[1],"data_offsets":[0,4]}})", 4), "no dtype"));
  BOOST_TEST(refuses(file_of(R"({"w":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", 4),
                     "unknown dtype \"F33\""));
  BOOST_TEST(refuses(file_of(one(R"("shape":[-1],"data_offsets":[0,4])"), 4), "no shape"));
  BOOST_TEST(refuses(file_of(one(R"("shape":[1.5],"data_offsets":[0,4])"), 4), "no shape"));
  BOOST_TEST(refuses(file_of(one(R"("shape":[1],"data_offsets":[0])"), 4), "data_offsets"));
  BOOST_TEST(refuses(file_of(one(R"("shape":[1],"data_offsets":[4,0])"), 4), "end before"));
  BOOST_TEST(refuses(file_of(one(R"("shape":[2],"data_offsets":[0,8])"), 4),
                     "[0, 8], but the file holds 4 bytes"));
  BOOST_TEST(refuses(file_of(one(R"("shape":[2],"data_offsets":[0,4])"), 4),
                     "needs 8 bytes for its shape and dtype F32"));
}

BOOST_AUTO_TEST_CASE(sizes_that_overflow_64_bits_are_refused) {
  const auto shape = [](const std::string& extents) {
    return file_of("{" + entry("w", R"("shape":)" + extents + R"(,"data_offsets":[0,0])") + "}", 0);
  };
  BOOST_TEST(refuses(shape("[9223372036854775807,9223372036854775807]"), "not a 64-bit number"));
  BOOST_TEST(refuses(shape("[4294967296,4294967296]"), "not a 64-bit number"));
  BOOST_TEST(refuses(shape("[2305843009213693952,2]"), "not a 64-bit number"));
  BOOST_TEST(refuses(shape("[18446744073709551617]"), "no shape"));
}

BOOST_AUTO_TEST_CASE(overlap_gaps_and_leftover_bytes_are_refused) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t data) {
    return file_of("{" + entry("a", R"("shape":[2],"data_offsets":)" + a) + "," +
                       entry("b", R"("shape":[2],"data_offsets":)" + b) + "}",
                   data);
  };
  BOOST_TEST(refuses(two("[0,8]", "[4,12]", 12), "Tensor b begins at data byte 4"));
  BOOST_TEST(refuses(two("[0,8]", "[0,8]", 8), "begins at data byte 0"));
  BOOST_TEST(refuses(two("[0,8]", "[12,20]", 20), "Data bytes 8 to 12 belong to no tensor"));
  BOOST_TEST(refuses(two("[0,8]", "[8,16]", 24), "Data bytes 16 to 24 belong to no tensor"));
  BOOST_TEST(refuses(two("[4,12]", "[12,20]", 20), "Data bytes 0 to 4 belong to no tensor"));
}

BOOST_AUTO_TEST_CASE(a_second_tensor_of_a_name_leaves_bytes_without_owner) {
  const auto twice = entry("w", R"("shape":[1],"data_offsets":[0,4])") + "," +
                     entry("w", R"("shape":[1],"data_offsets":[4,8])");
  BOOST_TEST(refuses(file_of("{" + twice + "}", 8), "Data bytes 0 to 4 belong to no tensor"));
}

BOOST_AUTO_TEST_CASE(a_file_cut_anywhere_is_refused) {
  const auto bytes = file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})",
                             11);
  BOOST_REQUIRE(read(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    BOOST_TEST(!read(bytes.substr(0, size)), "cut to " << size << " bytes");
  }
}

BOOST_AUTO_TEST_CASE(random_damage_never_yields_data_outside_the_file) {
  const unsigned seed = 4711;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  const auto whole = file_of(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                             R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]}})",
                             32);
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = whole;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto tensors = read(bytes);
    if (!tensors) continue;
    std::size_t covered = 0;
    for (const auto& t : *tensors) {
      covered += t.data.size();
      BOOST_REQUIRE(reinterpret_cast<const char*>(t.data.data()) >= bytes.data());
      BOOST_REQUIRE(reinterpret_cast<const char*>(t.data.data() + t.data.size()) <=
                    bytes.data() + bytes.size());
    }
    BOOST_REQUIRE(covered < bytes.size());
  }
}

BOOST_AUTO_TEST_CASE(index_and_shards_must_tell_the_same_story) {
  const auto shard = [](const std::string& name) {
    return file_of("{" + entry(name, R"("shape":[1],"data_offsets":[0,4])") + "}", 4);
  };
  const auto sentence = [&](const std::string& map, const std::string& second) {
    const temporary_folder folder;
    folder.write("one.safetensors", shard("a"));
    folder.write("two.safetensors", shard(second));
    folder.write("model.safetensors.index.json", map);
    const auto files = tensor_files::open(folder.path());
    return files ? std::to_string(files->data_bytes()) : files.error().text;
  };
  const std::string right = R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})";
  BOOST_TEST(sentence(right, "b") == "8");
  BOOST_TEST(sentence(right, "c").find("Tensor b is not in two.safetensors") != std::string::npos);
  BOOST_TEST(sentence(right, "a").find("also in one.safetensors") != std::string::npos);
  BOOST_TEST(sentence(R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors"}})", "b")
                 .find("Tensor b is not in one.safetensors") != std::string::npos);
  BOOST_TEST(sentence(R"({"weight_map":{"a":"../one.safetensors"}})", "b")
                 .find("not mapped to a .safetensors file") != std::string::npos);
  BOOST_TEST(sentence(R"({"weight_map":{"a":"none.safetensors"}})", "b") ==
             "none.safetensors: The file cannot be opened.");
  const std::string sized = R"({"metadata":{"total_size":9},)" + right.substr(1);
  BOOST_TEST(sentence(sized, "b").find("total_size is 9, but the shards hold 8 bytes") !=
             std::string::npos);
  BOOST_TEST(sentence("{}", "b").find("no weight_map") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_folder_without_weights_is_refused) {
  const temporary_folder folder;
  const auto files = tensor_files::open(folder.path());
  BOOST_REQUIRE(!files);
  BOOST_TEST(files.error().text == "model.safetensors: The file cannot be opened.");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
